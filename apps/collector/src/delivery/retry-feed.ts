import type { Retry, StoredMessage } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { LogFeed } from "./log-feed.js";
import type { PerUserQueue } from "./ordering/per-user-queue.js";
import { heldBytes } from "./reading/held-bytes.js";
import type { MessageLoader } from "./reading/message-loader.js";
import type { Work } from "./reading/work.js";
import type { Ledger } from "./settling/ledger.js";
import { isOver, type RetryPolicy, windowText } from "./settling/retry-schedule.js";

export interface RetryFeedOptions {
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
    const { feed, users, ledger, clock, policy } = this.#options;
    if (stored === undefined) {
      ledger.lost(retry.offset);
      users.lost(retry);
      return undefined;
    }
    const { message } = stored;
    if (!users.resume(stored, retry, (offset) => feed.covers({ message, offset }))) return undefined;
    const over = retry.rounds > 0 && isOver(retry.firstAttemptAtMs, clock.monotonic(), policy());
    if (over) ledger.finish(stored, "failed", `gave up after ${windowText(policy())}: ${retry.reason}`);
    const matched = over ? undefined : feed.match(stored, retry.replay);
    if (matched !== undefined) return { stored, matched, retry, heldBytes: heldBytes(stored.message) };
    if (!retry.replay) users.done(stored);
    return undefined;
  }
}
