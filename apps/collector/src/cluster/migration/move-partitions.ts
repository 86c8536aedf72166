import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  contentsOfFolder,
  DOWNLOAD_FOLDER,
  type MigrationProgress,
  type MigrationResult,
  moveIn,
  moveOut,
} from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { makeDataFolder, OWN_DATABASE } from "../../process/data-folder.js";
import {
  type PartitionsMark,
  partitionFolder,
  readPartitionsMark,
  writePartitionsMark,
} from "../../process/partition-folders.js";
import type { ClusterEngine } from "../cluster-options.js";
import { beginMove, endMove } from "../partitions/partition-count.js";
import { CannotMigrate } from "./cannot-migrate.js";

/** How far a migration is, and in which partition if there are several. */
export type PartitionProgress = MigrationProgress & { readonly partition?: number };

/** What was moved and compared. */
export interface MovedPart extends MigrationResult {
  /** Absent: there is only one. */
  readonly partition?: number;
}

export interface MovePartitionsOptions {
  /** The folder of the folders. */
  readonly directory: string;
  readonly partitions: number;
  readonly cluster: string;
  /** That of the first partition. */
  readonly engine: ClusterEngine;
  /** Opens that of another one. Its caller closes it. */
  readonly openEngine: (partition: number) => Promise<ClusterEngine>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: PartitionProgress) => void;
  /** Rejects if a process uses the cluster. */
  readonly check: () => Promise<void>;
}

/** Moves the data folder of each partition into that partition of a cluster that has no data. The same call goes on where one has ended. */
export async function movePartitionsIn(options: MovePartitionsOptions): Promise<readonly MovedPart[]> {
  const { partitions } = options;
  return intoCluster(options, partitions, (partition, engine) =>
    moveIn({ ...partOptions(options, partition), engine }),
  );
}

/** Moves a plain data folder into the first partition. The logs of the others are made by the first collector that starts. */
export async function moveIntoFirst(options: MovePartitionsOptions): Promise<readonly MovedPart[]> {
  const { directory, clock, signal, onProgress } = options;
  return intoCluster(options, 1, (_, engine) => moveIn({ directory, clock, signal, onProgress, engine }));
}

/** Until all parts are there, no process of the cluster may start: it would begin a log that is still empty. */
async function intoCluster(
  options: MovePartitionsOptions,
  parts: number,
  move: (partition: number, engine: ClusterEngine) => Promise<MigrationResult>,
): Promise<readonly MovedPart[]> {
  const { engine, partitions, cluster, check } = options;
  // What is there is the end of an earlier run, or is refused below.
  const isBegun = (await engine.log.bounds()).last > 0;
  const before = await beginMove(engine.leases, { cluster, wanted: partitions, isBegun }).catch(
    (error: Error) => {
      throw error.name === "Error" ? new CannotMigrate(error.message, [], error) : error;
    },
  );
  await check();
  const moved: MovedPart[] = [];
  for (let partition = 0; partition < parts; partition++) {
    const result = await withEngine(options, partition, (one) => move(partition, one));
    moved.push({ ...result, ...(parts === 1 ? {} : { partition }) });
  }
  if (before !== "in use") await endMove(engine.leases, parts === partitions);
  return moved;
}

/**
 * Makes a plain data folder of each partition of a cluster that no process uses, in one folder. The same call goes on where one has ended, if
 * no process has used the cluster since.
 */
export async function movePartitionsOut(options: MovePartitionsOptions): Promise<readonly MovedPart[]> {
  const { directory, partitions, engine, check } = options;
  const from = engine.cluster?.id ?? "";
  await makeDataFolder(directory);
  let mark = await beginFolder(directory, { partitions, from, moved: {} });
  const moved: MovedPart[] = [];
  for (let partition = 0; partition < partitions; partition++) {
    await withEngine(options, partition, async (one) => {
      const { last } = await one.log.bounds();
      moved.push({ ...(await movePartOut(options, mark, partition, one, last)), partition });
      mark = { ...mark, moved: { ...mark.moved, [partition]: last } };
      await writePartitionsMark(directory, mark);
    });
  }
  for (let partition = 0; partition < partitions; partition++)
    await withEngine(options, partition, async ({ log }) => {
      if ((await log.bounds()).last !== mark.moved?.[partition]) throw usedSince(directory, partition);
    });
  await check();
  await writePartitionsMark(directory, { partitions });
  return moved;
}

async function movePartOut(
  options: MovePartitionsOptions,
  { moved = {} }: PartitionsMark,
  partition: number,
  engine: ClusterEngine,
  last: number,
): Promise<MigrationResult> {
  const { directory, signal, check } = options;
  const folder = join(directory, partitionFolder(partition));
  const known = moved[partition];
  if (known !== undefined) {
    if (known !== last) throw usedSince(directory, partition);
    const contents = await contentsOfFolder(folder, signal);
    return { kind: "done before", source: contents, result: contents };
  }
  // A run ended between its last step and the note of it.
  if (existsSync(join(folder, OWN_DATABASE)) && !existsSync(join(folder, DOWNLOAD_FOLDER)))
    rmSync(folder, { recursive: true });
  const cluster = `${engine.cluster?.id ?? ""} ${partition}`;
  return moveOut({ ...partOptions(options, partition), engine, cluster, check });
}

/** Begins in an empty folder, or goes on in one that was begun for the same cluster. */
async function beginFolder(directory: string, begun: PartitionsMark): Promise<PartitionsMark> {
  const known = await readPartitionsMark(directory);
  if (known !== undefined && known.from === begun.from && known.partitions === begun.partitions) return known;
  const names = readdirSync(directory).sort();
  if (names.length > 0)
    throw new CannotMigrate(
      `${directory} is not empty (it has ${names.slice(0, 3).join(", ")}), and nothing is merged. Choose a folder that does not exist`,
    );
  await writePartitionsMark(directory, begun);
  return begun;
}

function usedSince(directory: string, partition: number): CannotMigrate {
  return new CannotMigrate(
    `The log of partition ${partition} went on after it was read: a collector of the cluster has run since. Stop all of them, remove ${directory}, and run the command again`,
  );
}

function partOptions({ directory, clock, signal, onProgress }: MovePartitionsOptions, partition: number) {
  return {
    ...{ directory: join(directory, partitionFolder(partition)), clock, signal },
    onProgress: (progress: MigrationProgress) => onProgress({ ...progress, partition }),
  };
}

async function withEngine<T>(
  { engine, openEngine }: MovePartitionsOptions,
  partition: number,
  use: (engine: ClusterEngine) => Promise<T>,
): Promise<T> {
  if (partition === 0) return use(engine);
  const opened = await openEngine(partition);
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}
