import type { Consumers, Offset, Retry } from "@sluice/event-log";

export interface RetryQueueOptions {
  readonly consumerId: string;
  readonly consumers: Pick<Consumers, "lease" | "nextDueMs" | "backlog">;
  /** How many retries the store has. */
  readonly stored: number;
  /** Retries became ready, or the next due time is known. */
  readonly onReady: () => void;
  readonly onFailure: (error: unknown) => void;
}

const LEASE_MS = 5 * 60_000;
const LEASED_AT_ONCE = 100;
const ASK_AGAIN_MS = 1_000;
/** Due retries held in memory while a dead destination takes none. */
const MOST_HELD = 5_000;

/** The retries of one destination that are due: the store keeps them all, here are those that can begin now. */
export class RetryQueue {
  readonly #options: RetryQueueOptions;
  #ready: Retry[] = [];
  /** Ready or under way: a lease that ran out meanwhile does not hand them out twice. */
  readonly #held = new Set<Offset>();
  /** The earliest due time in the store, as far as is known. */
  #nextDueMs: number | undefined;
  #asking = false;
  /** The earliest due time of what was put while the store was being asked. */
  #putWhileAskingMs: number | undefined;
  #waiting: number;

  constructor(options: RetryQueueOptions) {
    this.#options = options;
    this.#waiting = options.stored;
    this.#nextDueMs = options.stored > 0 ? Number.NEGATIVE_INFINITY : undefined;
  }

  /** Retries that wait, ready ones included. */
  get waiting(): number {
    return this.#waiting;
  }

  /** When the next one is due that is not ready yet. */
  get nextDueMs(): number | undefined {
    return this.#asking ? undefined : this.#nextDueMs;
  }

  /** The first ready one that is accepted, in the order of their due times. */
  take(accept: (retry: Retry) => boolean): Retry | undefined {
    const index = this.#ready.findIndex(accept);
    return index < 0 ? undefined : this.#ready.splice(index, 1)[0];
  }

  /** Leases what is due. */
  fill(nowMs: number): void {
    if (this.#asking || this.#nextDueMs === undefined || this.#nextDueMs > nowMs) return;
    if (this.#ready.length >= MOST_HELD) return;
    this.#asking = true;
    this.#lease(nowMs).then(
      (nextDueMs) => {
        this.#asking = false;
        // What was put meanwhile may or may not have been seen.
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

  /** Resolves with the due time of the next that was not handed out. */
  async #lease(nowMs: number): Promise<number | undefined> {
    const { consumers, consumerId } = this.#options;
    const leased = await consumers.lease(consumerId, nowMs, nowMs + LEASE_MS, LEASED_AT_ONCE);
    for (const retry of leased) {
      if (this.#held.has(retry.offset)) continue;
      this.#held.add(retry.offset);
      this.#ready.push(retry);
    }
    if (leased.length === LEASED_AT_ONCE) return nowMs;
    const nextDueMs = await consumers.nextDueMs(consumerId);
    // Due, but not handed out: the store's clock and ours differ on a lease. It is asked again, but not at once.
    return nextDueMs === undefined || nextDueMs > nowMs ? nextDueMs : nowMs + ASK_AGAIN_MS;
  }

  /** The store may have retries that were put by somebody else. */
  changed(): void {
    this.#noteDue(Number.NEGATIVE_INFINITY);
    const { consumers, consumerId, onFailure } = this.#options;
    consumers.backlog(consumerId).then(({ retries }) => {
      this.#waiting = retries;
    }, onFailure);
  }

  /** A message is going to be put: it counts among those that wait. */
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

  /** An outcome was stored: if it was a retry, it is none any more. */
  ended(offset: Offset): void {
    if (this.#held.delete(offset)) this.#waiting = Math.max(0, this.#waiting - 1);
  }
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}
