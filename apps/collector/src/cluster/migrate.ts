import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  CONTENT_NAMES,
  type Contents,
  DOCUMENT_KINDS,
  differences,
  documentsOf,
  MigrationDiffers,
  moveIn,
  moveOut,
  type StoredDocument,
} from "@sluice/event-log";
import { type Clock, systemClock } from "@sluice/resilience";
import { decodeKey, secretBox } from "../destinations/secret-box.js";
import { makeDataFolder } from "../process/data-folder.js";
import { partitionFolder, readPartitionsMark } from "../process/partition-folders.js";
import type { ClusterConfig } from "../process/settings/cluster-settings.js";
import { readMark } from "./cluster-folder.js";
import type { ClusterEngine } from "./cluster-options.js";
import { openConfiguredEngine } from "./configured-engine.js";
import { keyFingerprint } from "./front/peer.js";
import { CannotMigrate, type ComparedContent } from "./migration/cannot-migrate.js";
import {
  type MovedPart,
  type MovePartitionsOptions,
  moveIntoFirst,
  movePartitionsIn,
  movePartitionsOut,
  type PartitionProgress,
} from "./migration/move-partitions.js";
import { checkNoOwner } from "./migration/no-owner.js";
import { storedPartitions } from "./partitions/partition-count.js";

export interface MigrateOptions {
  /** `in`: from the folder into the cluster. `out`: from the cluster into the folder. */
  readonly direction: "in" | "out";
  /** The data folder of a collector that runs on its own. */
  readonly directory: string;
  /** Which cluster. */
  readonly config: ClusterConfig;
  /** The value of `SLUICE_SECRET_KEY`. Without it, the folder's `secret.key` is used. */
  readonly secretKey: string | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: PartitionProgress) => void;
  readonly clock?: Clock;
  /** For tests. Default: the one that the configuration names. */
  readonly openEngine?: (fingerprint: string, partition: number) => Promise<ClusterEngine>;
}

export interface MigrationReport {
  /** `done before`: an earlier run had finished. */
  readonly kind: "done" | "done before";
  readonly direction: "in" | "out";
  readonly cluster: string;
  readonly directory: string;
  /** The folder has a data folder for each of so many partitions. 1: it is a data folder. */
  readonly partitions: number;
  readonly contents: readonly ComparedContent[];
  /** Where the secret key was found. */
  readonly secretKey: "environment" | "folder";
}

/** Moves all data of a collector into a cluster, or out of one, while no collector uses either. The source stays as it is. */
export async function migrate(options: MigrateOptions): Promise<MigrationReport> {
  const { direction, directory, config } = options;
  const { key, origin } = await secretKeyOf(options);
  const folders =
    direction === "in"
      ? await foldersToMove(options, key).catch((error: unknown) => {
          throw readable(error);
        })
      : 1;
  const engine = await openEngine(options, keyFingerprint(key, config.clusterName));
  try {
    const ends: Ends = { engine, fingerprint: keyFingerprint(key, config.clusterName) };
    const { partitions, parts } = await (direction === "in"
      ? runIn(options, ends, folders)
      : runOut(options, ends));
    return {
      kind: parts.every(({ kind }) => kind === "done before") ? "done before" : "done",
      ...{ direction, cluster: config.clusterName, directory, partitions, secretKey: origin },
      contents: parts.flatMap(({ partition, source, result }) => compared(source, result, partition)),
    };
  } catch (error) {
    throw readable(error);
  } finally {
    await engine.close();
  }
}

interface Ends {
  readonly engine: ClusterEngine;
  readonly fingerprint: string;
}

interface Moved {
  /** How many data folders there are. */
  readonly partitions: number;
  readonly parts: readonly MovedPart[];
}

function openEngine(
  { direction, config, clock = systemClock, openEngine: open, signal }: MigrateOptions,
  fingerprint: string,
  /** Another one than the first: of which cluster. */
  of?: { readonly partition: number; readonly clusterId: string | undefined },
): Promise<ClusterEngine> {
  if (open !== undefined) return open(fingerprint, of?.partition ?? 0);
  const isIn = direction === "in";
  return openConfiguredEngine(config, {
    ...{ fingerprint, clusterId: of?.clusterId, clock, connectionName: "sluice migrate" },
    ...{ create: isIn, partition: of?.partition ?? 0, isNewPartition: isIn && of !== undefined, signal },
  });
}

async function runIn(options: MigrateOptions, ends: Ends, folders: number): Promise<Moved> {
  const { directory, config, clock = systemClock, signal, onProgress } = options;
  const { clusterPartitions: wanted } = config;
  const { engine } = ends;
  const moving = await movingOptions(options, ends, wanted);
  if (folders > 1) return { partitions: folders, parts: await movePartitionsIn(moving) };
  if (wanted > 1) return { partitions: 1, parts: await moveIntoFirst(moving) };
  const stored = await storedPartitions(engine.leases);
  if (stored > 1)
    throw new CannotMigrate(
      `The cluster "${config.clusterName}" has ${stored} partitions: set SLUICE_CLUSTER_PARTITIONS to ${stored}`,
    );
  return { partitions: 1, parts: [await moveIn({ directory, engine, clock, signal, onProgress })] };
}

async function runOut(options: MigrateOptions, ends: Ends): Promise<Moved> {
  const { directory, clock = systemClock, signal, onProgress } = options;
  const { engine } = ends;
  const partitions = await storedPartitions(engine.leases);
  const moving = await movingOptions(options, ends, partitions);
  if (partitions > 1) return { partitions, parts: await movePartitionsOut(moving) };
  await makeDataFolder(directory);
  const cluster = engine.cluster?.id ?? "";
  const { check } = moving;
  const part = await moveOut({ directory, engine, clock, signal, onProgress, cluster, check });
  return { partitions: 1, parts: [part] };
}

/** Rejects if a process uses the cluster. */
async function movingOptions(
  options: MigrateOptions,
  { engine, fingerprint }: Ends,
  partitions: number,
): Promise<MovePartitionsOptions> {
  const { directory, config, clock = systemClock, signal, onProgress } = options;
  const { clusterName: cluster, clusterLeaseMs: leaseMs } = config;
  const { leases } = engine;
  const check = await checkNoOwner({ leases, cluster, partitions, leaseMs, clock, signal });
  return {
    ...{ directory, partitions, cluster, engine, clock, signal, onProgress, check },
    openEngine: (partition) => openEngine(options, fingerprint, { partition, clusterId: engine.cluster?.id }),
  };
}

/** How many data folders the folder has. Rejects if it cannot be moved with this key, before anything is made in the cluster. */
async function foldersToMove({ directory, config }: MigrateOptions, key: Uint8Array): Promise<number> {
  const { clusterPartitions } = config;
  const mark = await readPartitionsMark(directory);
  if (mark === undefined) {
    await checkFolder(directory, key, clusterPartitions > 1);
    return 1;
  }
  if (mark.from !== undefined)
    throw new CannotMigrate(
      `${directory} is not complete: \`sluice migrate\` out of a cluster did not finish. Run that command again, or remove the folder`,
    );
  if (mark.partitions !== clusterPartitions)
    throw new CannotMigrate(
      `${directory} has the data of ${mark.partitions} partitions, and clusterPartitions is ${clusterPartitions}. Sources and offsets belong to a partition, so the new cluster needs as many: set SLUICE_CLUSTER_PARTITIONS to ${mark.partitions}`,
    );
  for (let partition = 0; partition < mark.partitions; partition++)
    await checkFolder(join(directory, partitionFolder(partition)), key, false);
  return mark.partitions;
}

/** Throws if the folder cannot be moved with this key. `isDivided`: into a cluster of several partitions. */
async function checkFolder(directory: string, key: Uint8Array, isDivided: boolean): Promise<void> {
  const mark = await readMark(directory);
  if (mark !== undefined)
    throw new CannotMigrate(
      `${directory} is the data folder of a collector of the cluster "${mark.name}". Its data is in that cluster already`,
    );
  const documents = documentsOf(directory);
  if (isDivided) checkUndivided(documents, directory);
  const opened = openSecrets(documents, key);
  const inFile = await readFile(join(directory, "secret.key"), "utf8").catch(() => undefined);
  const kept = inFile === undefined ? undefined : decodeKey(inFile.trim());
  // Digests of user ids are made with the key too, and nothing shows with which one.
  if (opened === 0 && kept !== undefined && !Buffer.from(kept).equals(key))
    throw new CannotMigrate(
      `SLUICE_SECRET_KEY is not the key in ${join(directory, "secret.key")}. Set it to the one that the collector used; if that was never the one in the file, remove the file`,
    );
}

/** Messages of one partition that would come to another one would be apart from their source. */
function checkUndivided(documents: readonly StoredDocument[], directory: string): void {
  const other = documents.find(
    ({ kind, json }) =>
      kind === DOCUMENT_KINDS.source && ((JSON.parse(json) as { partition?: number }).partition ?? 0) > 0,
  );
  if (other === undefined) return;
  throw new CannotMigrate(
    `${directory} is of one partition of a cluster: its source ${other.id} belongs to another one. Move the folder with the folders of all partitions, or move this one into a cluster of one partition`,
  );
}

async function secretKeyOf({
  directory,
  secretKey = "",
}: MigrateOptions): Promise<{ readonly key: Uint8Array; readonly origin: MigrationReport["secretKey"] }> {
  const file = join(directory, "secret.key");
  const inFile = await readFile(file, "utf8").catch(() => undefined);
  const text = secretKey === "" ? inFile?.trim() : secretKey;
  if (text === undefined)
    throw new CannotMigrate(
      `The secret key is needed: set SLUICE_SECRET_KEY to the key of all collectors. The folder ${directory} has no file secret.key`,
    );
  const key = decodeKey(text);
  if (key === undefined)
    throw new CannotMigrate(
      `${secretKey === "" ? file : "SLUICE_SECRET_KEY"} must be 32 bytes in hex or base64`,
    );
  return { key, origin: secretKey === "" ? "folder" : "environment" };
}

const SEALED = /"(sealed\.v1\.[A-Za-z0-9_-]+)"/g;

/** Every secret in the folder must open with the key that the collectors of the cluster will have. Returns how many there are. */
function openSecrets(documents: readonly StoredDocument[], key: Uint8Array): number {
  const box = secretBox(key);
  let opened = 0;
  for (const { kind, id, json } of documents) {
    for (const [, sealed = ""] of json.matchAll(SEALED)) {
      try {
        box.open(sealed);
        opened += 1;
      } catch (error) {
        throw new CannotMigrate(
          `A secret of ${kind} ${id} was stored with another secret key. Set SLUICE_SECRET_KEY to the one that the collector used`,
          [],
          error,
        );
      }
    }
  }
  return opened;
}

function readable(error: unknown): unknown {
  if (error instanceof MigrationDiffers) {
    const { message, source, result } = error;
    const names = differences(source, result).join(", ");
    return new CannotMigrate(
      `${sentence(message)} (${names}). Nothing was put into use. Run the command again; if it happens again, check the memory and the disks`,
      compared(source, result),
      error,
    );
  }
  return (error as Error).name === "MigrationRefused"
    ? new CannotMigrate(sentence((error as Error).message), [], error)
    : error;
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function compared(source: Contents, result: Contents, partition?: number): ComparedContent[] {
  const different = new Set(differences(source, result));
  return CONTENT_NAMES.map((what) => ({
    ...{ what, source: source[what], result: result[what], isEqual: !different.has(what) },
    ...(partition === undefined ? {} : { partition }),
  }));
}
