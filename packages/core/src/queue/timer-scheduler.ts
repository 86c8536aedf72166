import type { CancelTimer, Clock } from "@sluice/resilience";
import type { Outbox, Scheduler } from "./scheduler.js";
import { decideFlush, type FlushPolicy } from "./scheduler.js";

interface RoomOptions {
  /** How many further messages of the largest size fit now. */
  readonly room: () => number;
  /** Runs a task in a later turn of the event loop. */
  readonly defer: (task: () => void) => void;
  /** Keeps the process alive until the returned function is called. */
  readonly hold: () => () => void;
}

const READY = Promise.resolve();

/**
 * The callers of `ready()` that wait for room, first come, first served. Each one that goes on has a place reserved until it makes its
 * call, or until the present turn of the event loop ends. Without reservations, several loops would share the last free place.
 */
export class RoomWaiters {
  readonly #options: RoomOptions;
  #waiting: (() => void)[] = [];
  /** Places of callers that went on and have not made their call. */
  #reserved = 0;
  #expires = false;
  /** Set while somebody waits: the sends that make room do not keep the process alive by themselves. */
  #release: (() => void) | undefined;

  constructor(options: RoomOptions) {
    this.#options = options;
  }

  /** Whether nobody waits. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Resolves when a message of any size fits. */
  ready(): Promise<void> {
    if (this.#waiting.length === 0 && this.#options.room() > this.#reserved) {
      this.#reserve(1);
      return READY;
    }
    this.#release ??= this.#options.hold();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** A call was made, so its place is no longer reserved. */
  used(): void {
    if (this.#reserved > 0) this.#reserved -= 1;
  }

  /** Lets as many callers go on as there is room for. Call it when there may be more room. */
  wake(): void {
    const count = Math.min(this.#waiting.length, this.#options.room() - this.#reserved);
    if (count <= 0) return;
    this.#reserve(count);
    this.#resolve(count);
  }

  /** Lets all callers go on, whether there is room or not. */
  wakeAll(): void {
    this.#resolve(this.#waiting.length);
  }

  #reserve(count: number): void {
    this.#reserved += count;
    if (this.#expires) return;
    this.#expires = true;
    this.#options.defer(() => {
      this.#expires = false;
      this.#reserved = 0;
      this.wake();
    });
  }

  #resolve(count: number): void {
    for (const resolve of this.#waiting.splice(0, count)) resolve();
    if (this.#waiting.length > 0) return;
    this.#release?.();
    this.#release = undefined;
  }
}

export interface TimerOptions {
  readonly policy: FlushPolicy;
  readonly maxInFlight: number;
  readonly clock: Clock;
  /** Runs a task in a later turn of the event loop, so that nothing is sent within the caller's turn. */
  readonly defer: (task: () => void) => void;
  /** Keeps the process alive until the returned function is called. */
  readonly hold: () => () => void;
}

/**
 * When the queued messages that are not due yet become due.
 *
 * Idle: there are none, so no timer runs.
 *   Entered at construction and whenever everything becomes due or is taken. Left by a new message, to waiting or flushing.
 * Waiting: there are some. The timer runs, and makes them due when the time since the last flush is over.
 *   Entered by a message that may wait. Left when a flush makes everything due, or when a batch takes them along.
 * Flushing: messages became due, and a pump is deferred to a later turn of the event loop. No timer runs: whether one is needed for
 *   newer messages is decided when the pump runs.
 *   Entered when something becomes due. Left when the deferred pump runs, to idle or waiting.
 */
type State =
  | { readonly kind: "idle" }
  | { readonly kind: "waiting"; readonly cancelTimer: CancelTimer }
  | { readonly kind: "flushing" };

const IDLE: State = { kind: "idle" };
const FLUSHING: State = { kind: "flushing" };

/** Where a process lives on between calls: a full batch or a timer makes messages due, and batches are sent while there is room for requests. */
export class TimerScheduler implements Scheduler {
  readonly canSend = true;
  readonly stranded = [];
  readonly #outbox: Outbox;
  readonly #options: TimerOptions;
  readonly #waiters: RoomWaiters;
  #state: State = IDLE;
  #lastFlushMs: number;

  constructor(outbox: Outbox, options: TimerOptions) {
    this.#outbox = outbox;
    this.#options = options;
    const { clock, defer, hold } = options;
    this.#lastFlushMs = clock.monotonic();
    this.#waiters = new RoomWaiters({ room: () => outbox.room, defer, hold });
  }

  admitted(): void {
    this.#waiters.used();
  }

  queued(): void {
    if (this.#waiters.isEmpty) this.#schedule();
    else this.full();
  }

  /** Everything that is queued is sent, whatever the policy says. */
  full(): void {
    if (this.#outbox.notDue > 0) this.#outbox.makeAllDue();
  }

  /** While somebody waits, everything that is queued is due. */
  ready(): Promise<void> {
    const ready = this.#waiters.ready();
    if (!this.#waiters.isEmpty) this.full();
    return ready;
  }

  wakeAll(): void {
    this.#waiters.wakeAll();
  }

  due(): void {
    const { clock, defer } = this.#options;
    this.#lastFlushMs = clock.monotonic();
    if (this.#state.kind === "flushing") return;
    this.#setState(FLUSHING);
    defer(() => {
      this.#setState(IDLE);
      this.#pump();
      this.#schedule();
    });
  }

  emptied(): void {
    this.#setState(IDLE);
  }

  ended(): void {
    this.#pump();
    this.#waiters.wake();
  }

  flushing(): void {}

  abandoned(): void {}

  #setState(state: State): void {
    if (this.#state.kind === "waiting") this.#state.cancelTimer();
    this.#state = state;
  }

  /** Decides when the messages that are not due become due. */
  #schedule(): void {
    const { notDue } = this.#outbox;
    if (notDue === 0) return;
    const { policy, clock } = this.#options;
    const decision = decideFlush(policy, notDue, this.#lastFlushMs);
    if (decision.kind === "flush") this.#outbox.makeAllDue();
    else if (this.#state.kind === "idle") {
      const delayMs = Math.max(0, decision.untilMs - clock.monotonic());
      this.#setState({
        kind: "waiting",
        cancelTimer: clock.after(delayMs, () => this.#outbox.makeAllDue()),
      });
    }
  }

  #pump(): void {
    const outbox = this.#outbox;
    while (outbox.inFlight.size < this.#options.maxInFlight)
      if (outbox.sendNext(outbox.dueUpTo) === undefined) return;
  }
}
