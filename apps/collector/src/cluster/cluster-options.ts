import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ReplicationEngine } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { CLUSTER_MARK, OWN_DATABASE, refuseHalfMoved } from "../process/data-folder.js";
import { writeDurably } from "../process/write-durably.js";

/** The engine of a cluster, as far as a process uses it besides the port. */
export interface ClusterEngine extends ReplicationEngine {
  /** Which cluster it is. A cluster of the same name that was made again has another id. */
  readonly cluster?: { readonly id: string };
  /** Rejects if it is not safe to acknowledge: too few copies, or servers that acknowledge before they sync. */
  checkSafety?(): Promise<void>;
}

export interface OpenEngineParts {
  readonly node: string;
  /** A value that only the processes of this cluster share. */
  readonly fingerprint: string;
  /** The cluster to which the data folder belongs; undefined for a new folder. */
  readonly clusterId: string | undefined;
  readonly clock: Clock;
}

export interface ClusterOptions {
  readonly name: string;
  /** The name of this process in the cluster. */
  readonly node: string;
  /** Where other processes reach this one. Default: the address on which it listens. */
  readonly advertise?: string;
  /** After this time without a heartbeat of the owner, another process takes over. Default: 3_000. */
  readonly leaseMs?: number;
  /** How long to try again if the engine cannot be reached at the start. Default: 60_000. */
  readonly waitMs?: number;
  /** Ends that waiting. */
  readonly signal?: AbortSignal;
  /** Rejects with `EngineUnavailable` if it may help to try again, and with another readable reason if the engine cannot be used. */
  readonly openEngine: (parts: OpenEngineParts) => Promise<ClusterEngine>;
}

interface Mark {
  readonly name: string;
  readonly id?: string;
}

/** Reads to which cluster the folder belongs. Rejects if it holds data of another cluster, or of a collector that runs on its own. */
export async function readClusterFolder(folder: string, name: string): Promise<Mark | undefined> {
  refuseHalfMoved(folder);
  const mark = await readMark(folder);
  if (mark !== undefined && mark.name !== name)
    throw new Error(
      `The data folder ${folder} belongs to the cluster "${mark.name}", and clusterName is "${name}". Give each cluster a folder of its own`,
    );
  if (mark === undefined && existsSync(join(folder, OWN_DATABASE)))
    throw new Error(
      `The data folder ${folder} holds the data of a collector that runs on its own. A process of a cluster needs a folder of its own: its data comes from the cluster`,
    );
  return mark;
}

export async function markClusterFolder(folder: string, mark: Mark): Promise<void> {
  await writeDurably(join(folder, CLUSTER_MARK), `${JSON.stringify(mark, null, 2)}\n`);
}

/** Undefined: the folder is new, or belongs to a collector that runs on its own. */
export async function readMark(folder: string): Promise<Mark | undefined> {
  const file = join(folder, CLUSTER_MARK);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as Mark;
  } catch (error) {
    throw new Error(
      `${file} cannot be read, so it is not known to which cluster the data folder belongs. Empty the folder: its data comes from the cluster`,
      { cause: error },
    );
  }
}
