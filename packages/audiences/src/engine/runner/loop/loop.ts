import type { CancelTimer, Clock, SerialQueue } from "@sluice/resilience";
import type { Logger } from "../telemetry.js";
import { type LoopState, nextState, type Outcome, type Situation } from "./loop-state.js";
import type { Pace } from "./pace.js";
import type { Tasks } from "./tasks.js";

/** After a failure. */
const PAUSE_MS = 1_000;
/** A timer does not notice that the wall clock was set, so a window may end this much late. */
const LONGEST_WAIT_MS = 10_000;

/** The active states, in which a task runs. */
type TaskState = "taking_up_definitions" | "recovering" | "reading" | "compacting";

export interface LoopParts {
  readonly tasks: Tasks;
  readonly pace: Pace;
  /** Tasks run here one after another, together with calls that must not come between reading messages and counting them. */
  readonly enqueue: SerialQueue;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Drives the engine: carries out what `nextState` decides, until `close`. */
export class AudienceLoop {
  readonly #parts: LoopParts;
  readonly #closing = new AbortController();
  #state: LoopState = { kind: "starting" };
  /** Resolved by a wake-up; renewed when the wait has ended. So a wake-up during a task is not lost. */
  #wakeUp = Promise.withResolvers<void>();
  #running: Promise<void> = Promise.resolve();
  /** Why a task failed, until the same one succeeds: others may go on meanwhile. An outage is logged once, not each second. */
  #failure: { readonly during: LoopState["kind"]; readonly text: string } | undefined;
  /** How long the last round took. */
  #workedMs = 0;

  constructor(parts: LoopParts) {
    this.#parts = parts;
  }

  /** Aborts when the loop is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** There may be something to do. */
  wake(): void {
    this.#wakeUp.resolve();
  }

  /** A call needs the engine: it does not idle now. */
  hurry(): void {
    if (this.#state.kind === "idle") this.#state.end();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.hurry();
    this.wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    let outcome: Outcome = "done";
    for (;;) {
      const next = nextState(outcome, this.#situation());
      if (next === "closed") {
        this.#setState({ kind: "closed" });
        return;
      }
      try {
        outcome = await this.#pass(next);
        if (next === this.#failure?.during) this.#failure = undefined;
      } catch (error) {
        if (this.closing.aborted) continue;
        this.#failed(next, error);
        outcome = "failed";
      }
    }
  }

  #failed(during: LoopState["kind"], error: unknown): void {
    this.#parts.tasks.failed();
    const failure = error instanceof Error ? error.message : String(error);
    if (failure !== this.#failure?.text)
      this.#parts.logger.error("audiences failed and will retry", { error, againInMs: PAUSE_MS });
    this.#failure = { during, text: failure };
  }

  #situation(): Situation {
    return { isClosing: this.closing.aborted, ...this.#parts.tasks.situation() };
  }

  #setState(state: LoopState): void {
    this.#state = state;
  }

  /** Enters a state and leaves it. */
  async #pass(kind: Exclude<LoopState["kind"], "closed">): Promise<Outcome> {
    switch (kind) {
      case "starting":
        return "done";
      case "idle":
        await this.#idle();
        return "done";
      case "waiting":
        this.#setState({ kind });
        await this.#wait();
        return "done";
      case "paused":
        this.#setState({ kind });
        await this.#parts.clock.sleep(PAUSE_MS, this.closing).catch(() => {});
        return "done";
      default:
        return this.#task(kind);
    }
  }

  async #task(kind: TaskState): Promise<Outcome> {
    const { tasks, enqueue, clock } = this.#parts;
    return enqueue(async () => {
      this.#setState({ kind });
      switch (kind) {
        case "taking_up_definitions":
          await tasks.takeUpDefinitions();
          return "done";
        case "recovering":
          await tasks.recoverOutbox();
          return "done";
        case "compacting":
          await tasks.compact();
          // Messages that came meanwhile have woken it.
          return "quiet";
        case "reading": {
          const startedMs = clock.monotonic();
          const outcome = await tasks.read();
          this.#workedMs = clock.monotonic() - startedMs;
          return outcome;
        }
        default:
          return kind satisfies never;
      }
    });
  }

  async #idle(): Promise<void> {
    const ms = this.#parts.pace.idleMs(this.#workedMs);
    if (ms === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#setState({ kind: "idle", end: resolve });
    const cancel = this.#parts.clock.after(ms, resolve);
    await promise;
    cancel();
  }

  async #wait(): Promise<void> {
    const { clock, tasks } = this.#parts;
    const { wakeAtMs, reportAtMs } = tasks;
    const waits: number[] = [];
    if (wakeAtMs !== undefined) waits.push(Math.min(wakeAtMs - clock.now(), LONGEST_WAIT_MS));
    if (reportAtMs !== undefined) waits.push(Math.max(0, reportAtMs - clock.monotonic()));
    let cancel: CancelTimer = () => {};
    if (waits.length > 0) cancel = clock.after(Math.min(...waits), () => this.wake());
    await this.#wakeUp.promise;
    cancel();
    this.#wakeUp = Promise.withResolvers<void>();
  }
}
