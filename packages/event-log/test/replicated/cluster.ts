import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "@sluice/resilience";
import { afterEach } from "vitest";
import { openReplica } from "../../src/replicated/open-replica.js";
import type { Replica, ReplicaOptions } from "../../src/replicated/replica.js";
import { type MemoryEngines, openMemoryEngines } from "../memory-engine/open-memory-engines.js";
import { temporaryDirectories } from "../temporary-directory.js";

export interface TestCluster {
  readonly engines: MemoryEngines;
  /** The data folder of a node. */
  folderOf(node: string): string;
  open(node: string, options?: Partial<ReplicaOptions>): Promise<Replica>;
  close(replica: Replica): Promise<void>;
}

/** Makes clusters over memory. Their replicas are closed after each test. */
export function testClusters(clock: Clock = systemClock): (engines?: MemoryEngines) => TestCluster {
  const temporaryDirectory = temporaryDirectories();
  const opened = new Set<Replica>();
  afterEach(async () => {
    const all = [...opened];
    opened.clear();
    await Promise.all(all.map((replica) => replica.close()));
  });
  return (engines = openMemoryEngines()) => {
    const root = temporaryDirectory();
    const folderOf = (node: string): string => join(root, node);
    return {
      engines,
      folderOf,
      async open(node, options = {}) {
        mkdirSync(folderOf(node), { recursive: true });
        const engine = engines.engineFor(node);
        const replica = await openReplica({ directory: folderOf(node), engine, clock, node, ...options });
        opened.add(replica);
        return replica;
      },
      async close(replica) {
        opened.delete(replica);
        await replica.close();
      },
    };
  };
}

export const FOREVER = new AbortController().signal;

/** Leads. Being deposed fails the test. */
export function leadSafely(replica: Replica, term = 1): ReturnType<Replica["lead"]> {
  return replica.lead(term, {
    onDeposed(reason) {
      throw new Error(`deposed: ${reason}`);
    },
  });
}

/** Resolves when the replica's status is as wanted. */
export async function untilStatus(
  replica: Replica,
  wanted: (status: ReturnType<Replica["status"]>) => boolean,
): Promise<void> {
  await new Promise<void>((resolve) => {
    const check = (): void => {
      if (!wanted(replica.status())) return;
      stop();
      resolve();
    };
    const stop = replica.onStatus(check);
    check();
  });
}
