import { MessageChannel, type Worker } from "node:worker_threads";
import type { Offset, Store } from "@sluice/event-log";
import { backoffDelayMs, type CancelTimer, type Clock } from "@sluice/resilience";
import { type MethodName, type PortClient, portClient } from "@sluice/resilience/node";
import type { Purge } from "../../documents/followed-suppressions.js";
import type { Logger } from "../../process/telemetry/logger.js";
import type { DestinationStatus } from "../delivery-stage.js";
import type { Discarding } from "../destination-delivery.js";
import type { DestinationReading } from "../readings.js";
import type { RunningDelivery } from "../run-delivery.js";
import type {
  Companion,
  DeliveryNotice,
  DeliveryStart,
  DeliveryThreadApi,
  DeliveryThreadData,
} from "./thread-api.js";

export type DeliveryWorker = Pick<Worker, "on" | "postMessage" | "terminate">;

export type StartWorker = (data: DeliveryThreadData) => DeliveryWorker;

export interface DeliveryThreadParts {
  readonly clock: Clock;
  readonly logger: Pick<Logger, "error">;
  readonly share: NonNullable<Store["share"]>;
  readonly startThread: () => DeliveryWorker;
  /** What a thread begins with now. */
  readonly beginning: () => Omit<DeliveryStart, "port" | "assigned" | "companion">;
  /** Begins what the thread does besides. */
  readonly connect: () => Partial<ReturnType<Companion["connect"]>>;
  readonly onNotice: (notice: DeliveryNotice) => void;
}

interface Thread {
  readonly worker: DeliveryWorker;
  readonly client: PortClient<DeliveryThreadApi>;
  readonly startedAtMs: number;
  /** The destinations that it opens while it starts. */
  readonly begunWith: readonly string[];
  /** Resolves when it delivers to what is assigned, or has ended. */
  readonly started: Promise<void>;
  /** Afterwards none of its calls reaches the store. */
  readonly stopSharing: () => void;
  /** Why it ended, if that is known. */
  reason: string;
}

/**
 * - `starting`: the thread loads, joins the store and opens its destinations. The first state. Left to `running`, or to `waiting` if the
 *   thread ends.
 * - `running`: it delivers. Left to `waiting` when the thread ends by itself.
 * - `waiting`: there is no thread. Its rounds left no trace, and its retries are free. A timer leads back to `starting`.
 * - `closed`: the end.
 */
type State =
  | { readonly kind: "starting" | "running"; readonly thread: Thread }
  | { readonly kind: "waiting"; readonly cancel: CancelTimer }
  | { readonly kind: "closed" };

const PAUSES = { initialMs: 500, maxMs: 30_000, jitter: "equal" } as const;
/** A thread that ran for so long ends a row of failures, in milliseconds. */
const STEADY_MS = 60_000;
/** How long an answer is waited for that only says how things are, in milliseconds. */
const ANSWER_MS = 1_000;
/** A thread that has not handed its destinations over by then hangs, and is ended, in milliseconds. */
const HANDED_OVER_MS = 15_000;

/** Delivers in a thread of its own, which is started again when it ends. */
export class DeliveryThread implements RunningDelivery {
  readonly #parts: DeliveryThreadParts;
  #assigned: readonly string[];
  #state: State;
  #failures = 0;
  #readings: ReadonlyMap<string, DestinationReading> = new Map();

  constructor(parts: DeliveryThreadParts, assigned: readonly string[]) {
    this.#parts = parts;
    this.#assigned = assigned;
    this.#state = { kind: "starting", thread: this.#start() };
  }

  #start(): Thread {
    const { clock, share, startThread, beginning, connect, onNotice } = this.#parts;
    const worker = startThread();
    const { port1, port2 } = new MessageChannel();
    const assigned = this.#assigned;
    const client = portClient<DeliveryThreadApi, { message: string }, DeliveryNotice>(worker, {
      onNotice: (notice) => {
        if (this.#thread === thread || this.#state.kind === "closed") onNotice(notice);
      },
    });
    const stopSharing = share(port1 as never);
    const { data: companion, transfer = [] } = connect();
    const start = { port: port2, assigned, companion, ...beginning() };
    const thread: Thread = {
      worker,
      client,
      startedAtMs: clock.monotonic(),
      begunWith: assigned,
      started: client.call("start", [start], [port2, ...transfer]).then(
        () => this.#started(thread),
        (error: Error) => {
          thread.reason = error.message;
          void worker.terminate();
        },
      ),
      stopSharing,
      reason: "it ended by itself",
    };
    worker.on("error", (error: Error) => {
      thread.reason = error.message;
    });
    worker.on("exit", () => this.#ended(thread));
    return thread;
  }

  async #started(thread: Thread): Promise<void> {
    if (this.#thread !== thread) return;
    this.#state = { kind: "running", thread };
    if (this.#assigned !== thread.begunWith) await this.#assign(thread);
  }

  get #thread(): Thread | undefined {
    return "thread" in this.#state ? this.#state.thread : undefined;
  }

  #ended(thread: Thread): void {
    thread.stopSharing();
    if (this.#thread !== thread) return;
    const { clock, logger } = this.#parts;
    const wasSteady = clock.monotonic() - thread.startedAtMs >= STEADY_MS;
    this.#failures = wasSteady ? 1 : this.#failures + 1;
    logger.error("a thread that works has ended and is started again: its destinations wait until then", {
      reason: thread.reason,
      destinations: this.#assigned.length,
    });
    const pauseMs = backoffDelayMs(this.#failures, PAUSES, clock.random());
    const cancel = clock.after(pauseMs, () => {
      this.#state = { kind: "starting", thread: this.#start() };
    });
    this.#state = { kind: "waiting", cancel };
  }

  /** Calls a method whose result nobody needs. A thread that starts later knows by itself. */
  tell<Name extends MethodName<DeliveryThreadApi>>(
    method: Name,
    ...args: Readonly<Parameters<DeliveryThreadApi[Name]>>
  ): void {
    this.#thread?.client.call(method, args as never).catch(() => {});
  }

  async assign(destinationIds: readonly string[]): Promise<void> {
    this.#assigned = destinationIds;
    const state = this.#state;
    if (state.kind === "running") await this.#assign(state.thread);
    else if (state.kind === "starting" && state.thread.begunWith.some((id) => !destinationIds.includes(id)))
      await this.#handedOver(state.thread, state.thread.started);
  }

  async #assign(thread: Thread): Promise<void> {
    await this.#handedOver(
      thread,
      thread.client.call("assign", [this.#assigned]).catch(() => {}),
    );
  }

  /** A thread that ends meanwhile has handed over everything. */
  async #handedOver({ worker }: Thread, call: Promise<void>): Promise<void> {
    const cancel = this.#parts.clock.after(HANDED_OVER_MS, () => void worker.terminate());
    await call;
    cancel();
  }

  wake(destinationId: string): void {
    this.tell("wake", destinationId);
  }

  requeued(destinationId?: string): void {
    this.tell("requeued", destinationId);
  }

  /** Resolves when copies in the thread's memory are not delivered any more. */
  async takePurges(purges: readonly Purge[]): Promise<void> {
    await this.#thread?.client.call("takePurges", [purges]).catch(() => {});
  }

  async discard(
    destinationId: string,
    deliveries: readonly Discarding[],
    reason: string,
  ): Promise<readonly Offset[]> {
    const { client } = this.#thread ?? {};
    return (await client?.call("discard", [destinationId, deliveries, reason]).catch(() => [])) ?? [];
  }

  status(destinationId: string): Promise<DestinationStatus | undefined> {
    return this.#answer((client) => client.call("status", [destinationId]), undefined);
  }

  async readings(): Promise<ReadonlyMap<string, DestinationReading>> {
    this.#readings = await this.#answer((client) => client.call("readings", []), this.#readings);
    return this.#readings;
  }

  /** What the running thread answers, or `otherwise` if it does not answer soon. */
  async #answer<T>(ask: (client: PortClient<DeliveryThreadApi>) => Promise<T>, otherwise: T): Promise<T> {
    if (this.#state.kind !== "running") return otherwise;
    const late = Promise.withResolvers<T>();
    const cancel = this.#parts.clock.after(ANSWER_MS, () => late.resolve(otherwise));
    try {
      return await Promise.race([ask(this.#state.thread.client).catch(() => otherwise), late.promise]);
    } finally {
      cancel();
    }
  }

  async close(graceMs: number): Promise<void> {
    const before = this.#state;
    this.#state = { kind: "closed" };
    if (before.kind === "waiting") before.cancel();
    if (!("thread" in before)) return;
    const { client, worker, stopSharing } = before.thread;
    const late = Promise.withResolvers<void>();
    const cancel = this.#parts.clock.after(graceMs + ANSWER_MS, late.resolve);
    await Promise.race([client.call("close", [graceMs]).catch(() => {}), late.promise]);
    cancel();
    stopSharing();
    await worker.terminate();
  }
}
