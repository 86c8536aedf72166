import type { Retry, StoredMessage } from "@sluice/event-log";
import { backoffDelayMs, type CancelTimer, type Clock } from "@sluice/resilience";
import type { LogFeed } from "./log-feed.js";
import type { PerUserQueue } from "./ordering/per-user-queue.js";
import type { MessageLoader } from "./reading/message-loader.js";
import { heldBytes, type Work } from "./reading/work.js";
import type { Ledger } from "./settling/ledger.js";
import { isOver, type RetryPolicy, windowText } from "./settling/retry-schedule.js";

const PAUSES = { initialMs: 1_000, maxMs: 15_000, jitter: "equal" } as const;

/**
 * Tries again what failed in the store: everything at one time, however many calls failed, and after pauses that grow until a call
 * succeeds. A try makes several calls; if each that fails set a timer of its own, their number would double with each try.
 */
export class StoreRetry {
  readonly #clock: Clock;
  readonly #onTime: () => void;
  /** The calls to repeat at the next try. */
  #calls: (() => void)[] = [];
  #cancel: CancelTimer | undefined;
  #pauses = 0;

  /** `onTime` is called at each try, after the calls that are to be repeated. */
  constructor(clock: Clock, onTime: () => void) {
    this.#clock = clock;
    this.#onTime = onTime;
  }

  /** A call failed. `again` repeats it at the next try. */
  failed(again?: () => void): void {
    if (again !== undefined) this.#calls.push(again);
    if (this.#cancel !== undefined) return;
    this.#pauses += 1;
    const pauseMs = backoffDelayMs(this.#pauses, PAUSES, this.#clock.random());
    this.#cancel = this.#clock.after(pauseMs, () => {
      this.#cancel = undefined;
      for (const call of this.#calls.splice(0)) call();
      this.#onTime();
    });
  }

  /** A call succeeded: the next pause is short again. */
  succeeded(): void {
    this.#pauses = 0;
  }

  /** The store may never work again, and a timer would keep the process from ending. */
  close(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#calls = [];
  }
}

interface RetryFeedOptions {
  readonly loader: MessageLoader;
  readonly feed: LogFeed;
  readonly users: PerUserQueue;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** The destination's current policy. */
  readonly policy: () => RetryPolicy;
}

/** Turns due retries into work: loads the message, and decides again whether and when it is sent. */
export class RetryFeed {
  readonly #options: RetryFeedOptions;

  constructor(options: RetryFeedOptions) {
    this.#options = options;
  }

  load(retry: Retry): Promise<StoredMessage | undefined> {
    return this.#options.loader.load(retry.offset);
  }

  /** Undefined if the message is not to be sent, or not now. That is recorded already. */
  workOf(stored: StoredMessage | undefined, retry: Retry): Work | undefined {
    const { feed, users, ledger } = this.#options;
    if (stored === undefined) {
      ledger.lost(retry.offset);
      users.lost(retry);
      return undefined;
    }
    const { message } = stored;
    if (!users.resume(stored, retry, (offset) => feed.covers({ message, offset }))) return undefined;
    if (this.isOver(stored, retry)) return undefined;
    const matched = feed.match(stored, retry.replay);
    if (matched !== undefined) return { stored, matched, retry, heldBytes: heldBytes(stored.message) };
    if (!retry.replay) users.done(stored);
    return undefined;
  }

  /** Gives up a message whose window has ended. */
  isOver(stored: StoredMessage, retry: Retry): boolean {
    const { users, ledger, clock, policy } = this.#options;
    if (retry.rounds === 0 || !isOver(retry.firstAttemptAtMs, clock.monotonic(), policy())) return false;
    ledger.finish(stored, "failed", `gave up after ${windowText(policy())}: ${retry.reason}`);
    if (!retry.replay) users.done(stored);
    return true;
  }
}
