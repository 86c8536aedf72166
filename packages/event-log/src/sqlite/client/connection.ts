import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { CancelTimer, Clock } from "@sluice/resilience";
import { FolderInUse, StorageUnavailable } from "../../ports/errors.js";
import type { StoreHealth } from "../../ports/store.js";
import type {
  FromWorker,
  Join,
  LogStats,
  OperationName,
  Operations,
  Snapshot,
  ToWorker,
} from "../calls/operations.js";
import type { WorkerOptions } from "../calls/tuning.js";
import { CallOutbox, type TurnEnd } from "./call-outbox.js";
import type { StartStoreThread, StoreThread } from "./start-worker.js";

/** How long after a failure the database is opened again, in milliseconds. Doubles with each failure in a row, up to the maximum. */
const REOPEN_AFTER_MS = 100;
const MAX_REOPEN_AFTER_MS = 2_000;

/**
 * The connection's states:
 *
 * - `opening`: entered by `Connection.open`. The worker opens the database for the first time. Left to `ready` when it has, or to
 *   `closed` when it cannot; `open` then resolves or rejects.
 * - `ready`: the worker takes calls. Left to `unavailable` when a write or a sync fails or the thread dies, or to `closing`.
 * - `unavailable`: every call is refused, and a timer runs. Without a worker the thread has died. Left to `reopening` when the timer
 *   fires, or by `close`.
 * - `reopening`: the worker, or a new one, opens the database again; calls are still refused. Left to `ready`, or back to `unavailable`
 *   with a longer wait.
 * - `closing`: entered by `close`. New calls are refused, and the worker finishes those under way. Left to `closed` when the thread ends.
 * - `closed`: final.
 */
type State =
  | {
      readonly kind: "opening";
      readonly worker: StoreThread;
      readonly opened: () => void;
      readonly failed: (error: Error) => void;
    }
  | { readonly kind: "ready"; readonly worker: StoreThread }
  | (Failure & {
      readonly kind: "unavailable";
      readonly worker: StoreThread | undefined;
      readonly cancelTimer: CancelTimer;
    })
  | (Failure & { readonly kind: "reopening"; readonly worker: StoreThread })
  | {
      readonly kind: "closing";
      readonly worker: StoreThread;
      readonly ended: Promise<void>;
      readonly end: () => void;
    }
  | { readonly kind: "closed"; readonly worker: undefined };

interface Failure {
  readonly reason: string;
  /** When the first failure in a row happened. */
  readonly sinceMs: number;
  /** Failures in a row. */
  readonly failures: number;
}

export interface ConnectionEvents {
  /** The database was opened, for the first time or again. `snapshot` replaces every copy of its contents. */
  opened(snapshot: Snapshot): void;
  /** Called before the calls of a commit are answered. */
  stats(stats: LogStats): void;
  /** Stored data turned out to be damaged, or at least unreadable. Everything else goes on. */
  damaged(what: string, isCertain: boolean): void;
  /** See `Opening.noted`. */
  noted?(what: string): void;
}

/** What the main thread's side of each port needs of a connection to a store. */
export interface StoreConnection {
  /** Throws `StorageUnavailable` unless calls are taken now. */
  check(): void;
  /** Rejects with a `StoreError`. Objects in `transfer` are moved, not copied. */
  ask<Name extends OperationName>(
    operation: Name,
    request: Operations[Name]["request"],
    transfer?: readonly ArrayBuffer[],
  ): Promise<Operations[Name]["answer"]>;
  /** The last change of a document that was followed. Absent in the thread that makes them. */
  readonly lastChange?: number;
  /** When the calls of a turn of the event loop are sent. Others can add theirs. */
  readonly turn: TurnEnd;
  /** Lets another thread call over the port that is returned. Undefined: not now. Absent: calls have to go through this thread. */
  join?(joining: Pick<Join, "sources" | "fence">): Joining | undefined;
  health(): StoreHealth;
  /** Finishes the calls under way. */
  close(): Promise<void>;
}

/** Another thread's way to the store's thread. */
export interface Joining {
  readonly port: MessagePort;
  /** Afterwards, no call of that thread begins any more. */
  end(): void;
}

/**
 * The main thread's end of the channel to the store's thread. It collects the calls of one turn of the event loop and posts them as one
 * message; the worker answers each of them by its id.
 */
export class Connection implements StoreConnection {
  readonly #options: WorkerOptions;
  readonly #startThread: StartStoreThread;
  readonly #clock: Clock;
  readonly #events: ConnectionEvents;
  // Without a worker the calls are refused already. It needs no buffers: what a call moves stands in its request.
  readonly #calls = new CallOutbox((shared, transfers) => {
    const calls = shared.map(({ id, operation, request }) => ({ id, operation, request }));
    this.#state.worker?.postMessage({ kind: "calls", calls } satisfies ToWorker, [...transfers]);
  });
  #state: State;

  private constructor(
    options: WorkerOptions,
    startThread: StartStoreThread,
    clock: Clock,
    events: ConnectionEvents,
    opening: { opened(connection: Connection): void; failed(error: Error): void },
  ) {
    this.#options = options;
    this.#startThread = startThread;
    this.#clock = clock;
    this.#events = events;
    this.#state = {
      kind: "opening",
      worker: this.#start(),
      opened: () => opening.opened(this),
      failed: opening.failed,
    };
  }

  /** Rejects with `StorageUnavailable` if the folder cannot be opened. */
  static open(
    options: WorkerOptions,
    startThread: StartStoreThread,
    clock: Clock,
    events: ConnectionEvents,
  ): Promise<Connection> {
    return new Promise(
      (opened, failed) => new Connection(options, startThread, clock, events, { opened, failed }),
    );
  }

  #setState(state: State): void {
    this.#state = state;
  }

  #start(): StoreThread {
    const worker = this.#startThread(this.#options);
    worker.on("message", (message: FromWorker) => this.#receive(message));
    // `exit` follows. Until then the thread may still have the database open.
    let reason = "the store's thread has ended";
    worker.on("error", (error) => {
      reason = `${reason}: ${error.message}`;
    });
    worker.on("exit", () => this.#workerEnded(reason));
    return worker;
  }

  health(): StoreHealth {
    const state = this.#state;
    switch (state.kind) {
      case "ready":
      case "opening":
        return { kind: "ready" };
      case "unavailable":
      case "reopening":
        return { kind: "unavailable", reason: state.reason, sinceMs: state.sinceMs };
      case "closing":
      case "closed":
        return { kind: "unavailable", reason: "the store is closed", sinceMs: this.#clock.now() };
      default:
        return state satisfies never;
    }
  }

  /** Throws `StorageUnavailable` unless calls are taken now. */
  check(): void {
    const health = this.health();
    if (health.kind === "unavailable") throw new StorageUnavailable(health.reason);
  }

  get turn(): TurnEnd {
    return this.#calls.turn;
  }

  /** Rejects with a `StoreError`: `storage_unavailable` if nothing of the call was kept, or the worker's code. */
  ask<Name extends OperationName>(
    operation: Name,
    request: Operations[Name]["request"],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Operations[Name]["answer"]> {
    try {
      this.check();
    } catch (error) {
      return Promise.reject(error);
    }
    return this.#calls.add(operation, request, transfer);
  }

  join(joining: Pick<Join, "sources" | "fence">): Joining | undefined {
    if (this.#state.kind !== "ready") return undefined;
    const { port1, port2 } = new MessageChannel();
    const gate = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)).fill(1);
    const join: Join = { kind: "join", port: port1, gate, ...joining };
    this.#state.worker.postMessage(join, [port1]);
    return { port: port2, end: () => void Atomics.store(gate, 0, 0) };
  }

  #receive(message: FromWorker): void {
    switch (message.kind) {
      case "opened":
        this.#opened(message.snapshot);
        return;
      case "not-opened":
        this.#notOpened(message);
        return;
      case "answers":
        this.#events.stats(message.stats);
        for (const answer of message.answers) this.#calls.answer(answer);
        return;
      case "failed":
        this.#writeFailed(message.reason, message.ids);
        return;
      case "damaged":
        this.#events.damaged(message.what, message.isCertain);
        return;
      case "noted":
        this.#events.noted?.(message.what);
        return;
      case "closed":
        return;
      default:
        message satisfies never;
    }
  }

  #opened(snapshot: Snapshot): void {
    const state = this.#state;
    if (state.kind !== "opening" && state.kind !== "reopening") return;
    // Ready before it is told: whoever hears of messages reads them.
    this.#setState({ kind: "ready", worker: state.worker });
    this.#events.opened(snapshot);
    if (state.kind === "opening") state.opened();
  }

  #notOpened({ reason, isInUse }: { readonly reason: string; readonly isInUse: boolean }): void {
    const state = this.#state;
    if (state.kind === "opening")
      this.#giveUp(state, isInUse ? new FolderInUse(reason) : new StorageUnavailable(reason));
    else if (state.kind === "reopening") this.#becomeUnavailable(failedAgain(state, reason), state.worker);
  }

  #giveUp({ worker, failed }: Extract<State, { kind: "opening" }>, error: StorageUnavailable): void {
    this.#setState({ kind: "closed", worker: undefined });
    void worker.terminate().then(() => failed(error));
  }

  /** A write or a sync failed. In every other state than `ready` the worker only refuses calls that were posted too late. */
  #writeFailed(reason: string, ids: readonly number[]): void {
    const state = this.#state;
    if (state.kind === "ready")
      this.#becomeUnavailable({ reason, sinceMs: this.#clock.now(), failures: 1 }, state.worker);
    for (const id of ids) this.#calls.reject(id, new StorageUnavailable(reason));
  }

  #becomeUnavailable({ reason, sinceMs, failures }: Failure, worker: StoreThread | undefined): void {
    const delayMs = Math.min(REOPEN_AFTER_MS * 2 ** (failures - 1), MAX_REOPEN_AFTER_MS);
    const cancelTimer = this.#clock.after(delayMs, () => this.#reopen());
    this.#setState({ kind: "unavailable", worker, reason, sinceMs, failures, cancelTimer });
  }

  #reopen(): void {
    const state = this.#state;
    if (state.kind !== "unavailable") return;
    const { reason, sinceMs, failures } = state;
    // A new worker opens the database by itself.
    const worker = state.worker ?? this.#start();
    this.#setState({ kind: "reopening", worker, reason, sinceMs, failures });
    if (state.worker !== undefined) worker.postMessage({ kind: "reopen" } satisfies ToWorker);
  }

  #workerEnded(reason: string): void {
    const state = this.#state;
    switch (state.kind) {
      case "opening":
        this.#giveUp(state, new StorageUnavailable(reason));
        break;
      case "ready":
        this.#becomeUnavailable({ reason, sinceMs: this.#clock.now(), failures: 1 }, undefined);
        break;
      case "unavailable":
        this.#setState({ ...state, worker: undefined, reason });
        break;
      case "reopening":
        this.#becomeUnavailable(failedAgain(state, reason), undefined);
        break;
      case "closing":
        this.#setState({ kind: "closed", worker: undefined });
        state.end();
        break;
      case "closed":
        return;
      default:
        state satisfies never;
    }
    this.#calls.rejectAll(() => new StorageUnavailable(reason));
  }

  /** Finishes the calls under way, then ends the thread. */
  async close(): Promise<void> {
    if (this.#state.kind === "closed") return;
    if (this.#state.kind === "closing") return this.#state.ended;
    if (this.#state.kind === "unavailable") this.#state.cancelTimer();
    this.turn.send(true);
    const { worker } = this.#state;
    if (worker === undefined) {
      this.#setState({ kind: "closed", worker: undefined });
      return;
    }
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#setState({ kind: "closing", worker, ended, end });
    worker.postMessage({ kind: "close" } satisfies ToWorker);
    await ended;
  }
}

function failedAgain({ sinceMs, failures }: Failure, reason: string): Failure {
  return { reason, sinceMs, failures: failures + 1 };
}
