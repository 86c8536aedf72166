import type { ReplicationEngine } from "../engine.js";
import { MemoryEngine, type NodeFaults } from "./engine.js";
import { MemoryLeases } from "./leases.js";
import { MemoryLog } from "./log.js";
import { MemorySnapshots } from "./snapshots.js";

export interface MemoryEngines {
  /** The engine as one process sees it, for one partition. Default: 0. Each process has faults of its own, in all partitions. */
  engineFor(node: string, partition?: number): ReplicationEngine;
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
  const partitions = new Map<number, { readonly log: MemoryLog; readonly snapshots: MemorySnapshots }>();
  const partitionOf = (partition: number) => {
    const known = partitions.get(partition);
    if (known !== undefined) return known;
    const made = { log: new MemoryLog(maxEntryBytes, maxEntries), snapshots: new MemorySnapshots() };
    partitions.set(partition, made);
    return made;
  };
  const engines = new Map<string, MemoryEngine>();
  const engineFor = (node: string, partition = 0): MemoryEngine => {
    const key = `${partition} ${node}`;
    const known = engines.get(key);
    if (known !== undefined) return known;
    const engine = new MemoryEngine({ ...partitionOf(partition), leases });
    engines.set(key, engine);
    return engine;
  };
  const enginesOf = (node: string): readonly MemoryEngine[] => {
    engineFor(node);
    return [...engines].filter(([key]) => key.endsWith(` ${node}`)).map(([, engine]) => engine);
  };
  return {
    engineFor,
    faultsOf: (node) => ({
      cut() {
        for (const { faults } of enginesOf(node)) faults.cut();
      },
      heal() {
        for (const { faults } of enginesOf(node)) faults.heal();
      },
      get append() {
        return engineFor(node).faults.append;
      },
      set append(fault) {
        engineFor(node).faults.append = fault;
      },
    }),
    ...partitionOf(0),
  };
}
