import type { Attempt, FinalState, Offset, Retry, StoredMessage } from "@sluice/event-log";
import { type Clock, wallTimeAt } from "@sluice/resilience";
import type { DeliveryEvents } from "../delivery-events.js";
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

/** Where a consumer writes down what became of messages: each goes to the store, and is told to who listens. */
export class Ledger {
  readonly #options: LedgerOptions;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  /** The message has ended so. */
  settle(stored: StoredMessage, state: FinalState, reason: string): void {
    const { settler, clock, events, destinationId } = this.#options;
    const atMs = clock.now();
    settler.outcome({ offset: stored.offset, state, reason, atMs });
    events.settled(destinationId, stored, state, reason, atMs);
  }

  /** The message at an offset is in the log no more. */
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

  /** Puts a retry that was taken out of the queue back, with another due time perhaps. */
  putBack(retry: Retry): void {
    this.#options.settler.retry(retry);
  }

  attempt(attempt: Attempt): void {
    this.#options.settler.attempt(attempt);
  }
}
