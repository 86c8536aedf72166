import type { Attempt, FinalState, Offset, Retry, StoredMessage } from "@sluice/event-log";
import { type Clock, wallTimeAt } from "@sluice/resilience";
import type { DeliveryEvents } from "./delivery-events.js";
import type { RetryQueue } from "./retry-queue.js";
import type { Settler } from "./settler.js";

export interface LedgerOptions {
  readonly destinationId: string;
  readonly settler: Settler;
  readonly retries: RetryQueue;
  /** For times that are stored and shown. */
  readonly clock: Clock;
  readonly events: DeliveryEvents;
}

/** Records what happened to each message: hands it to the store, and reports it to metrics and the live stream. */
export class Ledger {
  readonly #options: LedgerOptions;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  /** Records the final state of a message. */
  finish(stored: StoredMessage, state: FinalState, reason: string): void {
    const { settler, clock, events, destinationId } = this.#options;
    const atMs = clock.now();
    settler.outcome({ offset: stored.offset, state, reason, atMs });
    events.finished(destinationId, stored, state, reason, atMs);
  }

  /** The message at an offset is no longer in the log. */
  lost(offset: Offset): void {
    const { settler, clock } = this.#options;
    settler.outcome({
      offset,
      state: "failed",
      reason: "the message is no longer stored",
      atMs: clock.now(),
    });
  }

  /** The message is tried again, or for the first time, when the retry is due. */
  retry(stored: StoredMessage, retry: Retry): void {
    const { settler, retries, clock, events, destinationId } = this.#options;
    retries.handedOver(retry.offset);
    settler.retry(retry);
    const nextAttemptAtMs = wallTimeAt(retry.dueAtMs, clock);
    events.retrying(destinationId, stored, retry.reason, clock.now(), nextAttemptAtMs);
  }

  /** Returns a retry that was taken out of the queue, possibly with another due time. */
  putBack(retry: Retry): void {
    this.#options.retries.putBack(retry.offset);
    this.#options.settler.retry(retry);
  }

  attempt(attempt: Attempt): void {
    this.#options.settler.attempt(attempt);
  }
}
