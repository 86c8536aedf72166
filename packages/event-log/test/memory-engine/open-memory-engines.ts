import type { ReplicationEngine } from "../../src/replicated/engine.js";
import { MemoryEngine, type NodeFaults } from "./engine.js";
import { MemoryLeases } from "./leases.js";
import { MemoryLog } from "./log.js";
import { MemorySnapshots } from "./snapshots.js";

export interface MemoryEngines {
  /** The engine as one process sees it. Each process has faults of its own. */
  engineFor(node: string): ReplicationEngine;
  faultsOf(node: string): NodeFaults;
  readonly log: MemoryLog;
  readonly snapshots: MemorySnapshots;
}

export interface MemoryEngineOptions {
  /** Default: 1 MiB. */
  readonly maxEntryBytes?: number;
  /** Entries that the log holds at most. Default: unlimited. */
  readonly maxEntries?: number;
}

/** An engine in memory, shared by all processes of a test, with faults. */
export function openMemoryEngines({
  maxEntryBytes = 1024 * 1024,
  maxEntries = Number.POSITIVE_INFINITY,
}: MemoryEngineOptions = {}): MemoryEngines {
  const leases = new MemoryLeases();
  const log = new MemoryLog(maxEntryBytes, maxEntries);
  const snapshots = new MemorySnapshots();
  const engines = new Map<string, MemoryEngine>();
  const engineFor = (node: string): MemoryEngine => {
    const known = engines.get(node);
    if (known !== undefined) return known;
    const engine = new MemoryEngine({ log, snapshots, leases });
    engines.set(node, engine);
    return engine;
  };
  return { engineFor, faultsOf: (node) => engineFor(node).faults, log, snapshots };
}
