import type { Consumers, Offset, Retry } from "@sluice/event-log";

export interface RetryQueueOptions {
  readonly consumerId: string;
  readonly consumers: Pick<Consumers, "lease" | "nextDueMs" | "backlog">;
  /** Retries in the store at the start. */
  readonly stored: number;
  /** Called when retries became ready, or the next due time is known. */
  readonly onReady: () => void;
  readonly onFailure: (error: unknown) => void;
}

const LEASE_MS = 5 * 60_000;
const LEASE_LIMIT = 100;
const ASK_AGAIN_MS = 1_000;
/** Due retries in memory while a dead destination takes none. */
const MAX_READY = 5_000;

/** The due retries of one destination. The store keeps all retries; this holds the leased ones, which can start now. */
export class RetryQueue {
  readonly #options: RetryQueueOptions;
  #ready: Retry[] = [];
  /** Ready or in flight. Prevents a second start when a lease expires meanwhile. */
  readonly #held = new Set<Offset>();
  /** The earliest known due time in the store. */
  #nextDueMs: number | undefined;
  #asking = false;
  /** The earliest due time among retries that were stored while a lease was requested. */
  #putWhileAskingMs: number | undefined;
  #waiting: number;

  constructor(options: RetryQueueOptions) {
    this.#options = options;
    this.#waiting = options.stored;
    this.#nextDueMs = options.stored > 0 ? Number.NEGATIVE_INFINITY : undefined;
  }

  /** Waiting retries, including ready ones. */
  get waiting(): number {
    return this.#waiting;
  }

  /** When the next retry that is not ready yet is due. */
  get nextDueMs(): number | undefined {
    return this.#asking ? undefined : this.#nextDueMs;
  }

  /** Takes the first ready retry that `accept` returns true for, in the order of due times. */
  take(accept: (retry: Retry) => boolean): Retry | undefined {
    const index = this.#ready.findIndex(accept);
    return index < 0 ? undefined : this.#ready.splice(index, 1)[0];
  }

  /** Leases due retries. */
  fill(nowMs: number): void {
    if (this.#asking || this.#nextDueMs === undefined || this.#nextDueMs > nowMs) return;
    if (this.#ready.length >= MAX_READY) return;
    this.#asking = true;
    this.#lease(nowMs).then(
      (nextDueMs) => {
        this.#asking = false;
        // The store may or may not have seen what was put meanwhile.
        const putDueMs = this.#putWhileAskingMs;
        this.#putWhileAskingMs = undefined;
        this.#nextDueMs = earlier(nextDueMs, putDueMs);
        this.#options.onReady();
      },
      (error) => {
        this.#asking = false;
        this.#options.onFailure(error);
      },
    );
  }

  /** Resolves with the due time of the next retry that was not leased. */
  async #lease(nowMs: number): Promise<number | undefined> {
    const { consumers, consumerId } = this.#options;
    const leased = await consumers.lease(consumerId, nowMs, nowMs + LEASE_MS, LEASE_LIMIT);
    for (const retry of leased) {
      if (this.#held.has(retry.offset)) continue;
      this.#held.add(retry.offset);
      this.#ready.push(retry);
    }
    if (leased.length === LEASE_LIMIT) return nowMs;
    const nextDueMs = await consumers.nextDueMs(consumerId);
    // Due but not leased: an earlier lease has not expired. Ask again, but not at once.
    return nextDueMs === undefined || nextDueMs > nowMs ? nextDueMs : nowMs + ASK_AGAIN_MS;
  }

  /** Somebody else may have put retries into the store. */
  changed(): void {
    this.#noteDue(Number.NEGATIVE_INFINITY);
    const { consumers, consumerId, onFailure } = this.#options;
    consumers.backlog(consumerId).then(({ retries }) => {
      this.#waiting = retries;
    }, onFailure);
  }

  /** A retry was handed over for storing: it counts as waiting. */
  handedOver(offset: Offset): void {
    if (!this.#held.has(offset)) this.#waiting += 1;
  }

  /** A retry was stored. */
  put({ offset, dueAtMs }: Retry): void {
    this.#held.delete(offset);
    this.#noteDue(dueAtMs);
  }

  #noteDue(dueAtMs: number): void {
    if (this.#asking) this.#putWhileAskingMs = earlier(this.#putWhileAskingMs, dueAtMs);
    else this.#nextDueMs = earlier(this.#nextDueMs, dueAtMs);
  }

  /** An outcome was stored. If the message was a retry, it is one no longer. */
  ended(offset: Offset): void {
    if (this.#held.delete(offset)) this.#waiting = Math.max(0, this.#waiting - 1);
  }
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}
