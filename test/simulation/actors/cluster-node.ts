import { type Collector, type CollectorOptions, startCollector } from "@sluice/collector";
import {
  type Identity,
  openReplica,
  type Replica,
  type ReplicationEngine,
  type Store,
} from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { openFront } from "../../../apps/collector/src/cluster/front/front.js";
import type { OwnerConnection } from "../../../apps/collector/src/cluster/front/owner-connection.js";
import { type ClusterNode, startClusterNode } from "../../../apps/collector/src/cluster/start-node.js";
import type { AfterCrash, CopyFolder } from "../world/copy-folder.js";
import type { EngineNetwork } from "../world/engine-network.js";
import { type Machine, ProcessClock } from "../world/machine.js";
import { TUNING } from "../world/sqlite-folder.js";
import type { World } from "../world/world.js";
import type { CollectorRun, History } from "./history.js";
import { MemoryServer } from "./memory-server.js";
import type { Receivers } from "./receivers.js";
import { optionsOfProcess, optionsOfRun, slowed } from "./simulated-options.js";

/** Leases and heartbeats are slower by this. At their own pace they would be most of the work of a run. */
export const CLUSTER_IS_SLOWER_BY = 40;
/** Waits of the replica from this length on are slower, too. Shorter ones are retries, on which messages wait. */
const LONG_WAIT_MS = 1_000;
const REPLICA_IS_SLOWER_BY = 120;
const RESTART_AFTER_MS = 1_000;
/** The copies make a snapshot, and trim the log, after this many bytes of it. */
const SNAPSHOT_EVERY_BYTES = 24_000;
const WATCHERS_ARE_SLOWER_BY = 10_000;

export interface ClusterNodeParts {
  readonly world: World;
  readonly history: History;
  readonly receivers: Receivers;
  /** All processes have one wall clock. */
  readonly machine: Machine;
  readonly name: string;
  readonly folder: CopyFolder;
  readonly network: EngineNetwork;
  readonly engine: ReplicationEngine;
  /** Connects to another process. */
  readonly connect: (address: string) => OwnerConnection;
  /** Called when a process of it takes requests as the owner, or does no more. */
  readonly onOwner: () => void;
}

interface Process {
  readonly clock: ProcessClock;
  readonly ended: AbortController;
  readonly node: Promise<ClusterNode>;
  readonly server: MemoryServer;
  replica: Replica | undefined;
  /** What runs while it owns the log. */
  leadership: Leadership | undefined;
}

interface Leadership {
  readonly run: CollectorRun;
  readonly store: Store;
  /** The collector takes requests. */
  isReady: boolean;
}

/** One machine of a cluster: the real process of a cluster, whole, in processes that may crash. */
export class ClusterNodeActor {
  readonly #parts: ClusterNodeParts;
  #process: Process | undefined;
  #starts = 0;

  constructor(parts: ClusterNodeParts) {
    this.#parts = parts;
  }

  get name(): string {
    return this.#parts.name;
  }

  /** Where the other process reaches it. */
  get url(): string {
    return `http://${this.name}`;
  }

  get network(): EngineNetwork {
    return this.#parts.network;
  }

  get folder(): CopyFolder {
    return this.#parts.folder;
  }

  get isRunning(): boolean {
    return this.#process !== undefined;
  }

  /** What listens now. */
  get server(): MemoryServer | undefined {
    return this.#process?.server;
  }

  get replica(): Replica | undefined {
    return this.#process?.replica;
  }

  /** What it owns now, as far as it knows. */
  get leadership(): Leadership | undefined {
    return this.#process?.leadership;
  }

  get clock(): ProcessClock | undefined {
    return this.#process?.clock;
  }

  /** Starts a process, as a supervisor does: if it cannot start, it tries again. */
  start(): void {
    if (this.#process !== undefined) return;
    const { world, history, machine, name, folder, network, engine } = this.#parts;
    this.#starts += 1;
    const clock = new ProcessClock(machine, world.random.fork(`${name} ${this.#starts}`));
    const ended = new AbortController();
    folder.start();
    world.note(`${name} starts`);
    const options: CollectorOptions = {
      ...optionsOfProcess(world, history, clock),
      dataDirectory: folder.path,
      clock: clockOfCluster(clock),
    };
    const started = Promise.withResolvers<ClusterNode>();
    const process: Process = {
      clock,
      ended,
      node: started.promise,
      server: new MemoryServer(),
      replica: undefined,
      leadership: undefined,
    };
    this.#process = process;
    startClusterNode({
      ...options,
      startCollector: (own) => this.#lead(process, own),
      openReplica: async (own) => {
        process.replica = await openReplica({
          ...own,
          clock: slowed(clock, REPLICA_IS_SLOWER_BY, LONG_WAIT_MS),
          tuning: TUNING,
          startThread: folder.startThread,
          snapshotEveryBytes: SNAPSHOT_EVERY_BYTES,
        });
        return process.replica;
      },
      openFront: (own) => openFront({ ...own, listen: process.server.open, connect: this.#parts.connect }),
      clusterOptions: {
        name: "simulated",
        node: name,
        advertise: this.url,
        openEngine: async () => network.engineOf(engine, () => clock.isAlive, ended.signal),
      },
    }).then(started.resolve, started.reject);
    started.promise.then(
      () => world.note(`${name} started`),
      (error: unknown) => {
        if (this.#process !== process) return;
        world.note(`${name} cannot start: ${String(error)}`);
        this.crash("kept");
        world.after(RESTART_AFTER_MS, () => this.start());
      },
    );
  }

  /** It has taken over, and starts a collector on the stores. */
  async #lead(process: Process, own: CollectorOptions): Promise<Collector> {
    const { world, history, receivers, name, onOwner } = this.#parts;
    const { clock } = process;
    if (own.store === undefined) throw new Error("The owner has a store");
    const store = observed(own.store, world, history);
    const began: CollectorRun = {
      startedAtMs: world.elapsedMs,
      startedMonotonicMs: clock.monotonic(),
      node: name,
    };
    history.runs.push(began);
    const run = history.runs.length;
    world.note(`${name} owns the log, run ${run}`);
    const leadership: Leadership = { run: began, store, isReady: false };
    process.leadership = leadership;
    const over = (how: "crash" | "stop"): void => {
      began.ended ??= { atMs: world.elapsedMs, monotonicMs: clock.monotonic(), how };
      if (process.leadership === leadership) process.leadership = undefined;
      onOwner();
    };
    try {
      const collector = await startCollector({
        ...own,
        store,
        ...optionsOfRun({
          ...{ world, history, receivers, clock, run },
          watchersAreSlowerBy: WATCHERS_ARE_SLOWER_BY,
        }),
      });
      began.readyAtMs = world.elapsedMs;
      leadership.isReady = true;
      world.note(`${name} takes requests, run ${run}`);
      onOwner();
      return {
        ...collector,
        async close(graceMs) {
          try {
            await collector.close(graceMs);
          } finally {
            world.note(`${name} owns the log no more`);
            over("stop");
          }
        },
      };
    } catch (error) {
      world.note(`${name} cannot own the log: ${String(error)}`);
      over("crash");
      throw error;
    }
  }

  /** The process ends at once, wherever it is. */
  crash(after: AfterCrash): void {
    const { world, folder, name, onOwner } = this.#parts;
    const ended = this.#process;
    if (ended === undefined) return;
    this.notePeak();
    this.#process = undefined;
    if (ended.leadership !== undefined)
      ended.leadership.run.ended ??= {
        atMs: world.elapsedMs,
        monotonicMs: ended.clock.monotonic(),
        how: "crash",
      };
    world.note(`${name} crash, copy ${after}`);
    ended.clock.stop();
    ended.ended.abort();
    ended.server.cut();
    folder.crash(after);
    onOwner();
  }

  /** Stops as on SIGTERM. */
  async stop(graceMs: number): Promise<void> {
    const { world, folder, name } = this.#parts;
    const ended = this.#process;
    if (ended === undefined) return;
    try {
      await (await ended.node).close(graceMs);
    } catch (error) {
      // As in a real process, which then ends with an error.
      world.note(`${name} cannot stop: ${String(error)}`);
      if (this.#process === ended) this.crash("kept");
      return;
    }
    if (this.#process !== ended) return;
    this.notePeak();
    this.#process = undefined;
    world.note(`${name} stop`);
    ended.clock.stop();
    ended.ended.abort();
    ended.server.cut();
    folder.close();
  }

  notePeak(): void {
    const { clock } = this;
    if (clock === undefined) return;
    this.#parts.history.peaks.push({ process: "collector", what: "timers", most: clock.peakPending });
  }
}

/** The clock of leases and heartbeats: all of it is slower, so that they fit each other. Its wall time is right. */
function clockOfCluster(clock: ProcessClock): Clock {
  const startMs = clock.monotonic();
  return {
    ...slowed(clock, CLUSTER_IS_SLOWER_BY),
    monotonic: () => startMs + (clock.monotonic() - startMs) / CLUSTER_IS_SLOWER_BY,
  };
}

/** Notes what a purge has removed. An entry of the log does not say whose data it was. */
function observed(store: Store, world: World, { purges }: History): Store {
  const purge: Store["purge"] = async (query, signal) => {
    const purged = await store.purge(query, signal);
    const { identities = [] } = query as { identities?: readonly Identity[] };
    purges.push({ identities, atMs: world.elapsedMs });
    return purged;
  };
  return { ...store, purge };
}
