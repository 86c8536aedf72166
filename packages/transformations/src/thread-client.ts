import { setFlagsFromString } from "node:v8";
import type { Worker } from "node:worker_threads";
import { type CancelTimer, type Clock, serialQueue } from "@sluice/resilience";
import {
  type PortClient,
  PortClosed,
  portClient,
  startThread,
  type ThreadRoom,
} from "@sluice/resilience/node";
import type { SandboxThread, SandboxThreadOptions } from "./thread/sandbox-thread.js";
import type { TransformFailure } from "./transform.js";

const ROOM: ThreadRoom = { youngMb: 16, oldMb: 128 };
/**
 * The thread stops a run itself when it has used the deadline as CPU time, which keeps the results that are there. It is ended after so
 * many deadlines on the clock: a call of the VM does not ask for the time, or the machine is very busy.
 */
const DEADLINES_ON_CLOCK = 4;
/** Starting the thread and a VM. It takes tens of milliseconds, on a busy machine more. */
const OPENING_MS = 10_000;

/** The thread was ended, or ended, before it answered. */
export class ThreadEnded extends Error {
  override readonly name = "ThreadEnded";
  readonly failure: TransformFailure;

  constructor(failure: TransformFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

type State =
  /** No thread, no memory. */
  | { readonly kind: "none" }
  /** A thread without work, which ends when the timer fires. */
  | { readonly kind: "idle"; readonly thread: Running; readonly cancelEnd: CancelTimer }
  /** A thread with one call. */
  | { readonly kind: "busy"; readonly thread: Running }
  | { readonly kind: "closed" };

interface Running {
  readonly worker: Worker;
  readonly client: PortClient<SandboxThread>;
  /** Called when the VM begins to run. */
  onRun: () => void;
}

export interface ThreadClientOptions extends SandboxThreadOptions {
  readonly idleMs: number;
  readonly clock: Clock;
}

/** A thread for sandboxes: the first call starts it, calls take turns, and it ends when it had no work for a while. */
export class ThreadClient {
  readonly #options: ThreadClientOptions;
  readonly #enqueue = serialQueue();
  #state: State = { kind: "none" };

  constructor(options: ThreadClientOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#state.kind === "idle" || this.#state.kind === "busy";
  }

  /** Makes a call, which has `deadlineMs` from when its VM begins to run. Rejects with `ThreadEnded`. */
  call<Result>(
    make: (thread: PortClient<SandboxThread>) => Promise<Result>,
    deadlineMs: number,
  ): Promise<Result> {
    return this.#enqueue(async () => {
      const thread = this.#begin();
      const ended = this.#endAfter(thread, deadlineMs);
      try {
        return await make(thread.client);
      } catch (error) {
        this.#drop(thread);
        throw new ThreadEnded(ended.failure ?? this.#failureOf(error));
      } finally {
        ended.cancel();
        // The answer may have come with the deadline: the thread is ending.
        if (ended.failure !== undefined) this.#drop(thread);
        this.#rest();
      }
    });
  }

  /** Ends the thread. Calls that wait or run reject. */
  async close(): Promise<void> {
    const state = this.#state;
    this.#state = { kind: "closed" };
    if (state.kind === "idle") state.cancelEnd();
    if (state.kind === "idle" || state.kind === "busy") await state.thread.worker.terminate();
  }

  #begin(): Running {
    const state = this.#state;
    if (state.kind === "closed") throw new ThreadEnded(CLOSED);
    if (state.kind === "idle") state.cancelEnd();
    const thread = state.kind === "idle" ? state.thread : this.#start();
    thread.worker.ref();
    this.#state = { kind: "busy", thread };
    return thread;
  }

  #start(): Running {
    const { memoryBytes, maxSandboxes } = this.#options;
    // Each of V8's threads that compiles WebAssembly keeps several MB afterwards. One is enough for one module.
    setFlagsFromString("--wasm-num-compilation-tasks=1");
    const isSource = import.meta.url.endsWith(".ts");
    const entry = new URL(isSource ? "./thread/worker.ts" : "./transformations-worker.js", import.meta.url);
    const data: SandboxThreadOptions = { memoryBytes, maxSandboxes };
    const worker = startThread(entry, { name: "sluice-sandbox", room: ROOM, workerData: data });
    const client = portClient<SandboxThread, { message: string }, "running">(worker, {
      onNotice: () => thread.onRun(),
    });
    const thread: Running = { worker, client, onRun() {} };
    worker.on("exit", () => {
      const state = this.#state;
      if (state.kind !== "idle" || state.thread !== thread) return;
      state.cancelEnd();
      this.#state = { kind: "none" };
    });
    return thread;
  }

  /** Ends the thread when the call takes too long: also a call of the VM that never asks whether it is late. */
  #endAfter(
    thread: Running,
    deadlineMs: number,
  ): { failure: TransformFailure | undefined; cancel: CancelTimer } {
    const { clock } = this.#options;
    const ended: { failure: TransformFailure | undefined; cancel: CancelTimer } = {
      failure: undefined,
      cancel: () => {},
    };
    const arm = (ms: number, failure: TransformFailure): void => {
      ended.cancel();
      ended.cancel = clock.after(ms, () => {
        ended.failure = failure;
        void thread.worker.terminate();
      });
    };
    arm(OPENING_MS, { code: "crashed", message: "The sandbox could not be opened in time" });
    thread.onRun = () => arm(DEADLINES_ON_CLOCK * deadlineMs, LATE);
    return ended;
  }

  /** Ends the thread of the call. The next call starts another one. */
  #drop({ worker }: Running): void {
    if (this.#state.kind === "busy") this.#state = { kind: "none" };
    void worker.terminate();
  }

  #rest(): void {
    const state = this.#state;
    if (state.kind !== "busy") return;
    const { thread } = state;
    thread.onRun = () => {};
    thread.worker.unref();
    const cancelEnd = this.#options.clock.after(this.#options.idleMs, () => {
      this.#state = { kind: "none" };
      void thread.worker.terminate();
    });
    this.#state = { kind: "idle", thread, cancelEnd };
  }

  #failureOf(error: unknown): TransformFailure {
    if (this.#state.kind === "closed") return CLOSED;
    if (!(error instanceof PortClosed))
      return { code: "crashed", message: `The sandbox failed: ${String(error)}` };
    const cause = error.cause as (Error & { code?: string }) | undefined;
    if (cause?.code === "ERR_WORKER_OUT_OF_MEMORY")
      return { code: "memory", message: "The thread of the sandbox was out of memory" };
    return {
      code: "crashed",
      message: `The thread of the sandbox ended${cause === undefined ? "" : `: ${cause.message}`}`,
    };
  }
}

const LATE: TransformFailure = {
  code: "timeout",
  message: "The function took too long and was ended at the deadline",
};
const CLOSED: TransformFailure = { code: "closed", message: "The sandboxes were closed" };
