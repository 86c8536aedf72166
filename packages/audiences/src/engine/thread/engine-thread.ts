import type { Worker } from "node:worker_threads";
import { StorageUnavailable, type StoredBatch, StoreError } from "@sluice/event-log";
import { type MethodName, type PortClient, PortClosed, portClient } from "@sluice/resilience/node";
import type { AudienceEngine } from "../engine.js";
import type { DamageNotice, Failure } from "./calls.js";

type Client = PortClient<AudienceEngine>;

/**
 *   stopped  There is no thread. Entered at the start and when a thread has exited. Left by the next call, which starts one.
 *   running  Calls go to the thread.
 *   ending   The thread reported that it ends: its file was damaged. Calls wait for its exit, then a new thread is started for them.
 *   closing  `close` was called and waits for the thread. Calls are rejected.
 *   closed   Final. Calls are rejected.
 */
type State =
  | { readonly kind: "stopped" }
  | {
      readonly kind: "running";
      readonly worker: Worker;
      readonly client: Client;
      readonly exited: Promise<void>;
    }
  | { readonly kind: "ending"; readonly exited: Promise<void> }
  | { readonly kind: "closing" }
  | { readonly kind: "closed" };

export interface EngineThreadEvents {
  /** Starts a thread. */
  readonly start: () => Worker;
  readonly onDamage: (notice: DamageNotice) => void;
  /** A thread ended by itself. */
  readonly onDeath: (cause: unknown) => void;
  /** Calls wait for it before the first thread is started. Default: they do not wait. */
  readonly mayStart?: Promise<void> | undefined;
}

/**
 * Calls the engine in a thread of its own. If the thread dies, the call that it worked on is rejected; calls that it had not begun are
 * repeated once in the next thread, which continues from what was committed.
 */
export class EngineThread {
  readonly #events: EngineThreadEvents;
  #state: State = { kind: "stopped" };
  #closed: Promise<void> | undefined;
  /** What calls wait for in `stopped`. */
  #mayStart: Promise<void> | undefined;

  constructor(events: EngineThreadEvents) {
    this.#events = events;
    this.#mayStart = events.mayStart?.then(() => {
      this.#mayStart = undefined;
    });
  }

  call(method: MethodName<AudienceEngine>, args: readonly unknown[]): Promise<unknown> {
    return this.#call(method, args, [], true);
  }

  /** Calls a method whose argument at `place` is a list of batches. Their bytes are copied once, into a buffer that is transferred. */
  callWithBatches(
    method: MethodName<AudienceEngine>,
    args: readonly unknown[],
    place: number,
  ): Promise<unknown> {
    const { batches, buffer } = withOwnBytes(args[place] as readonly StoredBatch[]);
    // Not repeatable: the bytes are gone with the thread.
    return this.#call(method, args.with(place, batches), [buffer], false);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    if (this.#state.kind === "ending") await this.#state.exited;
    const state = this.#state;
    if (state.kind !== "running") {
      this.#setState({ kind: "closed" });
      return;
    }
    this.#setState({ kind: "closing" });
    await state.client.call("close", []).catch(() => {});
    await state.exited;
    this.#setState({ kind: "closed" });
  }

  async #call(
    method: MethodName<AudienceEngine>,
    args: readonly unknown[],
    transfer: ArrayBuffer[],
    isRepeatable: boolean,
  ): Promise<unknown> {
    if (this.#state.kind === "ending") {
      await this.#state.exited;
      return this.#call(method, args, transfer, isRepeatable);
    }
    // In the order of the calls.
    if (this.#mayStart !== undefined) await this.#mayStart;
    if (this.#isClosed()) throw new StorageUnavailable("audiences are closed");
    const { client } = this.#state.kind === "running" ? this.#state : this.#start();
    try {
      return await client.call(method, args as never, transfer);
    } catch (error) {
      if (!(error instanceof PortClosed)) throw error;
      // The engine answers calls in order: it had begun none but the oldest, so no other call ended the thread.
      if (isRepeatable && !error.isOldest && !this.#isClosed()) return this.#call(method, args, [], false);
      const reason = error.cause instanceof Error ? `: ${error.cause.message}` : "";
      throw new StorageUnavailable(`the audiences' thread ended${reason}`, error.cause);
    }
  }

  #isClosed(): boolean {
    return this.#state.kind === "closing" || this.#state.kind === "closed";
  }

  #start(): Extract<State, { kind: "running" }> {
    const worker = this.#events.start();
    const client = portClient<AudienceEngine, Failure, DamageNotice>(worker, {
      toError: errorOf,
      onNotice: (notice) => {
        if (notice.isEnding && this.#state === running)
          this.#setState({ kind: "ending", exited: running.exited });
        this.#events.onDamage(notice);
      },
    });
    let cause: unknown;
    worker.on("error", (error) => {
      cause = error;
    });
    const { promise: exited, resolve } = Promise.withResolvers<void>();
    // Its hold on the file ends with its exit; only then another thread can be started.
    worker.on("exit", () => {
      const isDeath = this.#state === running;
      if (isDeath || this.#state.kind === "ending") this.#setState({ kind: "stopped" });
      if (isDeath) this.#events.onDeath(cause);
      resolve();
    });
    const running = { kind: "running", worker, client, exited } as const;
    this.#setState(running);
    return running;
  }

  #setState(state: State): void {
    this.#state = state;
  }
}

function withOwnBytes(batches: readonly StoredBatch[]): { batches: StoredBatch[]; buffer: ArrayBuffer } {
  const bytes = new Uint8Array(batches.reduce((sum, { body }) => sum + body.byteLength, 0));
  let at = 0;
  const copies = batches.map((batch): StoredBatch => {
    const body = bytes.subarray(at, at + batch.body.byteLength);
    body.set(batch.body);
    at += body.byteLength;
    return { ...batch, body };
  });
  return { batches: copies, buffer: bytes.buffer };
}

function errorOf({ code, message }: Failure): Error {
  if (code === "storage_unavailable") return new StorageUnavailable(message ?? "");
  return code === undefined ? new Error(message) : new StoreError(code, message);
}
