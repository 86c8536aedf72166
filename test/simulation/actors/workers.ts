import { EventEmitter } from "node:events";
import type { StartWorker } from "../../../apps/collector/src/delivery/workers/delivery-thread.js";
import { serveDelivery } from "../../../apps/collector/src/delivery/workers/serve-delivery.js";
import { startServer } from "../../../apps/collector/src/http/server.js";
import { serveIngest } from "../../../apps/collector/src/workers/serve-ingest.js";
import type { ProcessClock } from "../world/machine.js";
import { type PortOwner, SimulatedPort } from "../world/ports.js";
import { MemoryServer, type ServedAnswer, type ServedRequest } from "./memory-server.js";
import { optionsOfRun, type RunParts } from "./simulated-options.js";

/** How long a thread takes to begin, and how soon others hear that it has ended, in milliseconds. */
const BEGINS_MS = 40;
const HEARD_MS = 20;

/** The threads of one process of the collector that take requests and deliver: the product's code, in this thread. */
export class Workers {
  readonly #parts: RunParts;
  #threads: WorkerThread[] = [];
  #started = 0;
  #requests = 0;

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  readonly start: StartWorker = (data) => {
    const { world, run, clock } = this.#parts;
    this.#started += 1;
    const name = `worker ${run}.${this.#started}`;
    const own = clock.thread(world.random.fork(name));
    const thread = new WorkerThread(name, { ...this.#parts, clock: own }, () => {
      this.#threads = this.#threads.filter((one) => one !== thread);
    });
    this.#threads.push(thread);
    world.after(world.random.fork(name).integer(1, BEGINS_MS), () => thread.begin(data));
    return thread as unknown as ReturnType<StartWorker>;
  };

  /** The one of a place, counted round. Undefined: none runs. */
  at(place: number): WorkerThread | undefined {
    return this.#threads[place % Math.max(1, this.#threads.length)];
  }

  /** The system deals connections out to the threads that listen. Undefined: none does. */
  serve(request: ServedRequest): Promise<ServedAnswer | "refused" | "cut"> | undefined {
    const listening = this.#threads.filter(({ server }) => server.listens);
    this.#requests += 1;
    return listening[this.#requests % Math.max(1, listening.length)]?.serve(request);
  }

  get peaks(): readonly number[] {
    return this.#threads.map(({ clock }) => clock.peakPending);
  }

  /** Their process has ended. */
  cut(): void {
    for (const thread of this.#threads) thread.cut();
    this.#threads = [];
  }
}

export class WorkerThread extends EventEmitter implements PortOwner {
  readonly clock: ProcessClock;
  readonly server = new MemoryServer();
  heldUntilMs = 0;
  delayMs = 0;
  readonly #name: string;
  readonly #parts: RunParts;
  readonly #onEnd: () => void;
  readonly #ports: SimulatedPort[];

  /** `parts`: with a clock of its own. */
  constructor(name: string, parts: RunParts, onEnd: () => void) {
    super();
    this.#name = name;
    this.#parts = parts;
    this.#onEnd = onEnd;
    this.clock = parts.clock;
    const [outside, inside] = SimulatedPort.pair(parts.world);
    inside.owner = this;
    outside.on("message", (message) => this.emit("message", message));
    this.#ports = [outside, inside];
    inside.onTaking = (port) => this.#ports.push(port);
  }

  get isAlive(): boolean {
    return this.clock.isAlive;
  }

  begin(data: Parameters<StartWorker>[0]): void {
    if (!this.isAlive) return;
    const { openEndpoint, openSandboxes } = optionsOfRun(this.#parts);
    const { clock } = this;
    serveDelivery(
      this.#inside as never,
      data,
      (companion, parts) =>
        serveIngest(companion as Parameters<typeof serveIngest>[0], parts, {
          clock,
          startServer: (options) => startServer(options, this.server.open),
        }),
      { clock, openEndpoint, openSandboxes, resolve: async () => [{ address: "198.41.0.4", family: 4 }] },
    );
  }

  get #inside(): SimulatedPort {
    return this.#ports[1] as SimulatedPort;
  }

  postMessage(message: unknown, transfer?: readonly unknown[]): void {
    this.#ports[0]?.postMessage(message, transfer);
  }

  async serve(request: ServedRequest): Promise<ServedAnswer | "refused" | "cut"> {
    const { world } = this.#parts;
    const heldMs = this.heldUntilMs - world.elapsedMs;
    if (heldMs > 0) await new Promise<void>((resolve) => world.after(heldMs, resolve));
    return this.server.serve(request);
  }

  /** Nothing comes to it or from it for a while. */
  hold(ms: number): void {
    const { world } = this.#parts;
    world.note(`${this.#name} is cut off for ${ms} ms`);
    this.heldUntilMs = Math.max(this.heldUntilMs, world.elapsedMs + ms);
  }

  /** Its calls of the store in the next moments are on their way for `ms`. */
  delay(ms: number, forMs: number): void {
    const { world } = this.#parts;
    world.note(`${this.#name} is late by ${ms} ms`);
    this.delayMs = ms;
    world.after(forMs, () => {
      this.delayMs = 0;
    });
  }

  /** It ends without warning. What it has sent still arrives. */
  die(): void {
    if (!this.isAlive) return;
    const { world, history } = this.#parts;
    world.note(`${this.#name} dies`);
    history.deaths.push(world.elapsedMs);
    history.peaks.push({ process: "collector", what: "timers", most: this.clock.peakPending });
    for (const port of this.#ports.slice(1)) port.end();
    this.clock.stop();
    this.server.cut();
    this.#onEnd();
    world.after(world.random.fork(this.#name).integer(0, HEARD_MS), () => this.emit("exit"));
  }

  async terminate(): Promise<number> {
    this.die();
    return 1;
  }

  cut(): void {
    this.clock.stop();
    this.server.cut();
    for (const port of this.#ports) port.cut();
    this.removeAllListeners();
  }
}
