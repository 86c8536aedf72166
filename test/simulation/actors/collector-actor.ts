import { type Collector, startCollector } from "@sluice/collector";
import type { Store } from "@sluice/event-log";
import { startServer } from "../../../apps/collector/src/http/server.js";
import { DATA_FOLDER } from "../world/determinism.js";
import { type Disk, type Mount, mountedProfiles, mountedStore } from "../world/disk.js";
import { Machine, ProcessClock } from "../world/machine.js";
import type { ProfileDisk } from "../world/profile-disk.js";
import type { World } from "../world/world.js";
import { callApi, readMetrics } from "./call-api.js";
import type { CollectorRun, History } from "./history.js";
import { MemoryServer, type ServedAnswer, type ServedRequest } from "./memory-server.js";
import type { Receivers } from "./receivers.js";
import { optionsOfProcess, optionsOfRun } from "./simulated-options.js";
import type { Site } from "./site.js";
import { Workers, type WorkerThread } from "./workers.js";

/** How long the supervisor waits after a start that failed. */
const RESTART_AFTER_MS = 1_000;

/** What the collector keeps beyond its processes. */
export interface Durable {
  readonly store: Store;
  readonly profiles: ProfileDisk;
  /** The process ends without warning. */
  crash(): void;
}

export interface CollectorActorOptions {
  readonly world: World;
  readonly history: History;
  readonly disk: Disk;
  readonly durable: (clock: ProcessClock) => Promise<Durable>;
  readonly receivers: Receivers;
  /** How many threads work, the main one included. */
  readonly workers: number;
  /** What only watches has no part in any promise. Its ticks every two seconds would be most of the work of a run. */
  readonly watchersAreSlowerBy: number;
}

interface Process {
  readonly clock: ProcessClock;
  readonly mount: Mount;
  readonly server: MemoryServer;
  /** Resolves when it has started. */
  readonly collector: Promise<Collector>;
  readonly durable: Durable;
  readonly workers: Workers;
  /** Ends the wait for its start. */
  readonly die: () => void;
}

/** The real collector, whole, in processes that may crash. Only the network, the disk and the clock are simulated. */
export class CollectorActor implements Site {
  readonly machine: Machine;
  readonly #options: CollectorActorOptions;
  #process: Process | undefined;
  #isOpening = false;

  constructor(options: CollectorActorOptions) {
    this.#options = options;
    this.machine = new Machine(options.world, "collector");
  }

  get runs(): number {
    return this.#options.history.runs.length;
  }

  /** The store behind the disk. */
  get store(): Store {
    if (this.#process === undefined) throw new Error("The collector does not run");
    return this.#process.durable.store;
  }

  /** Starts a process, as a supervisor does: if it cannot start, it tries again. */
  async start(): Promise<void> {
    if (this.#process !== undefined || this.#isOpening) return;
    const { world, history, disk, durable, receivers } = this.#options;
    const run = history.runs.length + 1;
    const clock = new ProcessClock(this.machine, world.random.fork(`collector ${run}`));
    this.#isOpening = true;
    const opened = await durable(clock).finally(() => {
      this.#isOpening = false;
    });
    const mount = disk.mount();
    const server = new MemoryServer();
    const began: CollectorRun = { startedAtMs: world.elapsedMs, startedMonotonicMs: clock.monotonic() };
    history.runs.push(began);
    world.note(`collector starts, run ${run}`);
    const { watchersAreSlowerBy } = this.#options;
    const parts = { world, history, receivers, clock, run, watchersAreSlowerBy };
    const workers = new Workers(parts);
    const collector = startCollector({
      ...optionsOfProcess(world, history, clock),
      ...optionsOfRun(parts),
      workers: this.#options.workers,
      startWorker: workers.start,
      dataDirectory: DATA_FOLDER,
      store: mountedStore(opened.store, mount),
      profiles: mountedProfiles(opened.profiles.open(), mount),
      startServer: (options) => startServer(options, server.open),
    });
    const died = Promise.withResolvers<never>();
    const process: Process = {
      clock,
      mount,
      server,
      collector,
      durable: opened,
      workers,
      die: () => died.reject(new Error("crashed")),
    };
    this.#process = process;
    const started = Promise.race([collector, died.promise]);
    try {
      await started;
      began.readyAtMs = world.elapsedMs;
      world.note(`collector started, run ${run}`);
    } catch (error) {
      if (this.#process !== process) return;
      world.note(`collector cannot start: ${String(error)}`);
      this.crash();
      world.after(RESTART_AFTER_MS, () => void this.start());
    }
  }

  /** The process ends at once, wherever it is. */
  crash(): void {
    const ended = this.#process;
    if (ended === undefined) return;
    this.#ended(ended, "crash");
    ended.clock.stop();
    ended.server.cut();
    ended.workers.cut();
    ended.mount.crash();
    ended.durable.crash();
    ended.die();
  }

  /** Stops as on SIGTERM. */
  async stop(graceMs: number): Promise<void> {
    const { world } = this.#options;
    const ended = this.#process;
    if (ended === undefined) return;
    const collector = await ended.collector;
    try {
      await collector.close(graceMs);
    } catch (error) {
      // As in a real process, which then ends with an error.
      world.note(`collector cannot stop: ${String(error)}`);
      if (this.#process === ended) this.crash();
      return;
    }
    if (this.#process !== ended) return;
    this.#ended(ended, "stop");
    ended.durable.profiles.sync();
    ended.server.cut();
    ended.workers.cut();
    ended.clock.stop();
  }

  #ended({ clock, workers }: Process, how: "crash" | "stop"): void {
    const { world, history } = this.#options;
    this.#process = undefined;
    this.#notePeaks(clock, workers);
    const run = history.runs.at(-1);
    if (run) run.ended = { atMs: world.elapsedMs, monotonicMs: clock.monotonic(), how };
    world.note(`collector ${how}`);
  }

  notePeak(): void {
    if (this.#process !== undefined) this.#notePeaks(this.#process.clock, this.#process.workers);
  }

  #notePeaks(clock: ProcessClock, workers: Workers): void {
    const { peaks } = this.#options.history;
    for (const most of [clock.peakPending, ...workers.peaks])
      peaks.push({ process: "collector", what: "timers", most });
  }

  /** A thread that works. Undefined: none runs besides the main one. */
  worker(place: number): WorkerThread | undefined {
    return this.#process?.workers.at(place);
  }

  readonly serve = (request: ServedRequest): Promise<ServedAnswer | "refused" | "cut"> =>
    this.#process?.workers.serve(request) ??
    this.#process?.server.serve(request) ??
    Promise.resolve("refused");

  api(method: string, path: string, body?: object): Promise<unknown> {
    return callApi(this.serve, method, path, body);
  }

  metrics(): Promise<Map<string, number>> {
    return readMetrics(this.serve);
  }

  get timers(): number {
    return this.#process?.clock.pending ?? 0;
  }
}
