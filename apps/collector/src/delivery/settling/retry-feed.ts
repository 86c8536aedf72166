import type { Retry, StoredMessage } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { UserLines } from "../ordering/user-lines.js";
import { heldBytes } from "../reading/held-bytes.js";
import type { LogFeed } from "../reading/log-feed.js";
import type { MessageLoader } from "../reading/message-loader.js";
import type { Work } from "../work.js";
import type { Ledger } from "./ledger.js";
import { isOver, type RetryPolicy, windowText } from "./retry-schedule.js";

export interface RetryFeedOptions {
  readonly loader: MessageLoader;
  readonly feed: LogFeed;
  readonly lines: UserLines;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly policy: RetryPolicy;
}

/** Makes work of retries that are due: loads the message, and asks anew whether and when it is to be sent. */
export class RetryFeed {
  readonly #options: RetryFeedOptions;

  constructor(options: RetryFeedOptions) {
    this.#options = options;
  }

  load(retry: Retry): Promise<StoredMessage | undefined> {
    return this.#options.loader.load(retry.offset);
  }

  /** Undefined: it is not to be sent, or not now; that is written down already. */
  workOf(stored: StoredMessage | undefined, retry: Retry): Work | undefined {
    const { feed, lines, ledger, clock, policy } = this.#options;
    if (stored === undefined) {
      ledger.lost(retry.offset);
      lines.lost(retry.offset);
      return undefined;
    }
    if (!lines.resume(stored, retry)) return undefined;
    const over = retry.rounds > 0 && isOver(retry.firstAttemptAtMs, clock.monotonic(), policy);
    if (over) ledger.settle(stored, "failed", `gave up after ${windowText(policy)}: ${retry.reason}`);
    const matched = over ? undefined : feed.match(stored, retry.replay);
    if (matched !== undefined) return { stored, matched, retry, heldBytes: heldBytes(stored.message) };
    if (!retry.replay) lines.done(stored);
    return undefined;
  }
}
