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
import type { RunNotice, SandboxThread, SandboxThreadOptions } from "./thread/sandbox-thread.js";
import type { TransformFailure } from "./transform.js";

const ROOM: ThreadRoom = { youngMb: 16, oldMb: 128 };
const COMPILER_FLAGS = [
  // Each of V8's threads that compiles WebAssembly keeps several MB afterwards. One is enough for one module.
  "--wasm-num-compilation-tasks=1",
  // The engine is many small functions, called by a few that are too large for V8's own limits of inlining. With these it takes three
  // quarters of the time.
  "--wasm-inlining-budget=50000",
  "--wasm-inlining-min-budget=3000",
  "--wasm-inlining-max-size=4000",
  "--wasm-inlining-factor=10",
];
/**
 * The thread stops a run itself when it has used the deadline as CPU time, which keeps the results that are there. If a call of the VM
 * does not ask for the time, the thread is ended when it has used so much more.
 */
const GRACE_MS = 200;
/** At most so often, a running thread is asked for its CPU time. */
const LOOK_AGAIN_MS = 20;
/** On the clock, the thread is ended after so many deadlines, however busy the machine is. */
const DEADLINES_ON_CLOCK = 10;
/** The same where nobody knows how much CPU time a thread has used: under Node.js 22. */
const DEADLINES_WITHOUT_CPU = 4;
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
  onRun: (beforeMs: RunNotice) => void;
}

/** The end of the thread of a call, once it took too long. */
interface Ending {
  failure: TransformFailure | undefined;
  cancel: CancelTimer;
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
    for (const flag of COMPILER_FLAGS) setFlagsFromString(flag);
    const isSource = import.meta.url.endsWith(".ts");
    const entry = new URL(isSource ? "./thread/worker.ts" : "./transformations-worker.js", import.meta.url);
    const data: SandboxThreadOptions = { memoryBytes, maxSandboxes };
    const worker = startThread(entry, { name: "sluice-sandbox", room: ROOM, workerData: data });
    const client = portClient<SandboxThread, { message: string }, RunNotice>(worker, {
      onNotice: (beforeMs) => thread.onRun(beforeMs),
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
  #endAfter(thread: Running, deadlineMs: number): Ending {
    const { clock } = this.#options;
    const { worker } = thread;
    const ending: Ending = { failure: undefined, cancel: () => {} };
    let isOver = false;
    let cancelTimer: CancelTimer = () => {};
    const after = (ms: number, run: () => void): void => {
      cancelTimer();
      cancelTimer = clock.after(ms, run);
    };
    const end = (failure: TransformFailure): void => {
      ending.failure = failure;
      void worker.terminate();
    };
    after(OPENING_MS, () => end({ code: "crashed", message: "The sandbox could not be opened in time" }));
    thread.onRun = (beforeMs) => {
      if (beforeMs === undefined) return after(DEADLINES_WITHOUT_CPU * deadlineMs, () => end(LATE));
      const endsAtMs = clock.monotonic() + DEADLINES_ON_CLOCK * deadlineMs;
      const look = async (): Promise<void> => {
        after(endsAtMs - clock.monotonic(), () => end(LATE));
        const usedMs = (await cpuMsOf(worker)) - beforeMs;
        if (isOver) return;
        const leftMs = Math.min(deadlineMs + GRACE_MS - usedMs, endsAtMs - clock.monotonic());
        if (leftMs > 0) after(Math.max(leftMs, LOOK_AGAIN_MS), () => void look());
        else end(LATE);
      };
      after(deadlineMs + GRACE_MS, () => void look());
    };
    ending.cancel = () => {
      isOver = true;
      cancelTimer();
    };
    return ending;
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

/** CPU time of a thread, also of one that is in a call. Infinite if it has ended. */
async function cpuMsOf(worker: Worker): Promise<number> {
  try {
    const { user, system } = await worker.cpuUsage();
    return (user + system) / 1_000;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

const LATE: TransformFailure = {
  code: "timeout",
  message: "The function took too long and was ended at the deadline",
};
const CLOSED: TransformFailure = { code: "closed", message: "The sandboxes were closed" };
