import type { Worker } from "node:worker_threads";
import type { Clock } from "@sluice/resilience";
import { StorageUnavailable, StoreError } from "../../ports/errors.js";
import type { StoreHealth } from "../../ports/store.js";
import type {
  Answer,
  Call,
  FromWorker,
  LogStats,
  OperationName,
  Operations,
  Snapshot,
  ToWorker,
} from "../calls/operations.js";
import type { WorkerOptions } from "../calls/tuning.js";
import { startWorker } from "./start-worker.js";

/** How long after a failure the database is opened again, in milliseconds; each further time twice as long, up to the second. */
const REOPEN_AFTER_MS = 100;
const REOPEN_AFTER_AT_MOST_MS = 2_000;

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/**
 *   opening      the worker has the database under way, for the first time
 *   ready        calls are taken
 *   unavailable  a write or sync went wrong, or the thread died: every call is refused until the database has been opened anew
 *   closing      no calls are taken; those under way are finished
 *   closed
 */
type State =
  | { readonly kind: "opening"; readonly done: (result: Error | undefined) => void }
  | { readonly kind: "ready" }
  | {
      readonly kind: "unavailable";
      readonly reason: string;
      readonly sinceMs: number;
      readonly cancel: () => void;
    }
  | { readonly kind: "closing"; readonly done: () => void }
  | { readonly kind: "closed" };

export interface ConnectionEvents {
  /** The database was opened, the first time or again: what was copied from it is as given. */
  opened(snapshot: Snapshot): void;
  /** Called before the calls of a commit are answered. */
  figures(figures: LogStats): void;
  /** Stored data turned out to be damaged; everything else goes on. */
  damaged(what: string): void;
}

/** The main thread's end: collects the calls of one turn of the event loop, hands them over, settles them as answers come. */
export class Connection {
  readonly #options: WorkerOptions;
  readonly #clock: Clock;
  readonly #events: ConnectionEvents;
  #worker: Worker;
  #isDead = false;
  #state: State = { kind: "closed" };
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #outbox: Call[] = [];
  #transfers: ArrayBuffer[] = [];
  #isScheduled = false;
  #failures = 0;
  /** Called at the end of a turn, before what it has called is handed over. */
  readonly #beforeSend: ((isLast: boolean) => void)[] = [];

  private constructor(options: WorkerOptions, clock: Clock, events: ConnectionEvents) {
    this.#options = options;
    this.#clock = clock;
    this.#events = events;
    this.#worker = this.#start();
  }

  /** Rejects with `StorageUnavailable` where the folder cannot be opened. */
  static async open(options: WorkerOptions, clock: Clock, events: ConnectionEvents): Promise<Connection> {
    const connection = new Connection(options, clock, events);
    const failure = await new Promise<Error | undefined>((done) => {
      connection.#state = { kind: "opening", done };
    });
    if (failure === undefined) return connection;
    connection.#state = { kind: "closed" };
    await connection.#worker.terminate();
    throw failure;
  }

  #start(): Worker {
    this.#isDead = false;
    const worker = startWorker(this.#options);
    worker.on("message", (message: FromWorker) => this.#receive(message));
    // Its end follows: before it, the database may still be in its hands.
    let reason = "the store's thread has ended";
    worker.on("error", (error) => {
      reason = `${reason}: ${error.message}`;
    });
    worker.on("exit", () => this.#died(reason));
    return worker;
  }

  health(): StoreHealth {
    const state = this.#state;
    switch (state.kind) {
      case "ready":
      case "opening":
        return { kind: "ready" };
      case "unavailable":
        return { kind: "unavailable", reason: state.reason, sinceMs: state.sinceMs };
      case "closing":
      case "closed":
        return { kind: "unavailable", reason: "the store is closed", sinceMs: this.#clock.now() };
      default:
        return state satisfies never;
    }
  }

  /** Throws unless calls are taken now. */
  check(): void {
    const health = this.health();
    if (health.kind === "unavailable") throw new StorageUnavailable(health.reason);
  }

  /** Calls `prepare` at the end of each turn that schedules something, before it is handed over; `isLast`: there will be no other. */
  beforeSend(prepare: (isLast: boolean) => void): void {
    this.#beforeSend.push(prepare);
  }

  ask<Name extends OperationName>(
    operation: Name,
    request: Operations[Name]["request"],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Operations[Name]["answer"]> {
    return new Promise((resolve, reject) => {
      this.check();
      const id = this.#nextId;
      this.#nextId += 1;
      this.#waiting.set(id, { resolve: resolve as (answer: unknown) => void, reject });
      this.#outbox.push({ id, operation, request });
      this.#transfers.push(...transfer);
      this.schedule();
    });
  }

  /** Hands over what this turn of the event loop has asked for when the turn ends: no timer, no waiting for more. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#send(false);
    });
  }

  #send(isLast: boolean): void {
    for (const prepare of this.#beforeSend) prepare(isLast);
    if (this.#outbox.length === 0) return;
    const calls = this.#outbox;
    const transfers = this.#transfers;
    this.#outbox = [];
    this.#transfers = [];
    this.#post({ kind: "calls", calls }, transfers);
  }

  #post(message: ToWorker, transfers: readonly ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfers);
  }

  #receive(message: FromWorker): void {
    switch (message.kind) {
      case "opened":
        this.#opened(message.snapshot);
        return;
      case "not-opened":
        this.#notOpened(message.reason);
        return;
      case "answers":
        this.#events.figures(message.figures);
        for (const answer of message.answers) this.#settle(answer);
        return;
      case "failed":
        this.#becomeUnavailable(message.reason);
        this.#refuse(message.ids, message.reason);
        return;
      case "damaged":
        this.#events.damaged(message.what);
        return;
      case "closed":
        return;
      default:
        message satisfies never;
    }
  }

  #settle(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (waiting === undefined) return;
    if (answer.kind === "done") waiting.resolve(answer.answer);
    else waiting.reject(new StoreError(answer.code, answer.detail, { details: { version: answer.current } }));
  }

  #refuse(ids: Iterable<number>, reason: string): void {
    for (const id of [...ids]) {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      waiting?.reject(new StorageUnavailable(reason));
    }
  }

  #opened(snapshot: Snapshot): void {
    this.#failures = 0;
    const state = this.#state;
    if (state.kind !== "opening" && state.kind !== "unavailable") return;
    this.#events.opened(snapshot);
    this.#state = { kind: "ready" };
    if (state.kind === "opening") state.done(undefined);
  }

  #notOpened(reason: string): void {
    if (this.#state.kind === "opening") this.#state.done(new StorageUnavailable(reason));
    else this.#becomeUnavailable(reason);
  }

  #becomeUnavailable(reason: string): void {
    const state = this.#state;
    if (state.kind !== "ready" && state.kind !== "unavailable") return;
    if (state.kind === "unavailable") state.cancel();
    const delayMs = Math.min(REOPEN_AFTER_MS * 2 ** this.#failures, REOPEN_AFTER_AT_MOST_MS);
    this.#failures += 1;
    this.#state = {
      kind: "unavailable",
      reason,
      sinceMs: state.kind === "unavailable" ? state.sinceMs : this.#clock.now(),
      cancel: this.#clock.after(delayMs, () => this.#reopen()),
    };
  }

  #reopen(): void {
    if (this.#isDead) this.#worker = this.#start();
    else this.#post({ kind: "reopen" });
  }

  /** The thread has ended without being asked to. */
  #died(reason: string): void {
    const state = this.#state;
    switch (state.kind) {
      case "opening":
        state.done(new StorageUnavailable(reason));
        return;
      case "closing":
        this.#refuse(this.#waiting.keys(), reason);
        this.#state = { kind: "closed" };
        state.done();
        return;
      case "ready":
      case "unavailable":
        this.#isDead = true;
        this.#becomeUnavailable(reason);
        this.#refuse(this.#waiting.keys(), reason);
        return;
      case "closed":
        return;
      default:
        state satisfies never;
    }
  }

  /** Finishes what was asked for, then ends the thread. */
  async close(): Promise<void> {
    const state = this.#state;
    if (state.kind === "closed" || state.kind === "closing") return;
    if (state.kind === "unavailable") state.cancel();
    this.#send(true);
    if (this.#isDead) {
      this.#state = { kind: "closed" };
      return;
    }
    await new Promise<void>((done) => {
      this.#state = { kind: "closing", done };
      this.#post({ kind: "close" });
    });
  }
}
