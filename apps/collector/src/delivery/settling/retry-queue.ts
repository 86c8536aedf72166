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
  /** Ready, in flight, or on their way to the store. Prevents a second start when a lease expires meanwhile. */
  readonly #held = new Set<Offset>();
  /** Of these, the ones that were handed over for storing again. */
  readonly #returned = new Set<Offset>();
  /** The earliest known due time in the store. */
  #nextDueMs: number | undefined;
  #asking = false;
  /** The earliest due time among retries that were stored while a lease was requested. */
  #putWhileAskingMs: number | undefined;
  /** A call for a lease had no answer. Until then, the store may have leased what nobody knows of, and names no time for it. */
  #lostUntilMs: number | undefined;
  /** As the store counts them. */
  #stored: number;
  /** Those that were handed over and are not stored yet. */
  readonly #unstored = new Set<Offset>();

  constructor(options: RetryQueueOptions) {
    this.#options = options;
    this.#stored = options.stored;
    this.#nextDueMs = options.stored > 0 ? Number.NEGATIVE_INFINITY : undefined;
  }

  /** Waiting retries, including ready ones. */
  get waiting(): number {
    return this.#stored + this.#unstored.size;
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

  /** The earliest of the times that `timeOf` gives ready retries. Infinity if none is ready. */
  earliest(timeOf: (retry: Retry) => number): number {
    return this.#ready.reduce(
      (earliest, retry) => Math.min(earliest, timeOf(retry)),
      Number.POSITIVE_INFINITY,
    );
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
        if (this.#lostUntilMs !== undefined && this.#lostUntilMs <= nowMs) this.#lostUntilMs = undefined;
        this.#nextDueMs = earlier(this.#nextDueMs, this.#lostUntilMs);
        this.#options.onReady();
      },
      (error) => {
        this.#asking = false;
        this.#lostUntilMs = nowMs + LEASE_MS;
        this.#options.onFailure(error);
      },
    );
  }

  /** Leases retries that are not due yet, and were stored until `storedUntilMs`. `onNone` is called if there are none. */
  release(nowMs: number, storedUntilMs: number, onNone: () => void): void {
    if (this.#asking || this.#ready.length > 0) return;
    this.#asking = true;
    const { consumers, consumerId, onReady, onFailure } = this.#options;
    const ended = (): void => {
      this.#asking = false;
      // A retry that was put meanwhile may be due earlier than what was known.
      this.#nextDueMs = earlier(this.#nextDueMs, this.#putWhileAskingMs);
      this.#putWhileAskingMs = undefined;
    };
    consumers.lease(consumerId, nowMs, nowMs + LEASE_MS, LEASE_LIMIT, storedUntilMs).then(
      (leased) => {
        this.#hold(leased);
        if (leased.length === 0) onNone();
        ended();
        onReady();
      },
      (error) => {
        ended();
        this.#lostUntilMs = nowMs + LEASE_MS;
        onFailure(error);
      },
    );
  }

  /** Takes the ready retries that are not due: they wait for their time again. */
  takeEarly(nowMs: number): Retry[] {
    const early = this.#ready.filter(({ dueAtMs }) => dueAtMs > nowMs);
    this.#ready = this.#ready.filter(({ dueAtMs }) => dueAtMs <= nowMs);
    return early;
  }

  /** Withholds a waiting retry, so that it can be ended. Returns false if it is in flight. */
  withhold(offset: Offset): boolean {
    const index = this.#ready.findIndex((retry) => retry.offset === offset);
    if (index < 0 && this.#held.has(offset)) return false;
    if (index >= 0) this.#ready.splice(index, 1);
    // As long as it is held, a lease of it is ignored.
    this.#held.add(offset);
    return true;
  }

  #hold(leased: readonly Retry[]): void {
    for (const retry of leased) {
      if (this.#held.has(retry.offset)) continue;
      this.#held.add(retry.offset);
      this.#ready.push(retry);
    }
  }

  /** Resolves with the due time of the next retry that was not leased. */
  async #lease(nowMs: number): Promise<number | undefined> {
    const { consumers, consumerId } = this.#options;
    const leased = await consumers.lease(consumerId, nowMs, nowMs + LEASE_MS, LEASE_LIMIT);
    this.#hold(leased);
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
      this.#stored = retries;
    }, onFailure);
  }

  /** Makes a retry of the store ready whose turn has come, whenever it is due. It must be neither in hand nor on its way. */
  ready(retry: Retry): void {
    this.#held.add(retry.offset);
    this.#ready.push(retry);
    this.#options.onReady();
  }

  /** A retry of the store starts by other means. */
  taken(offset: Offset): void {
    this.#held.add(offset);
  }

  /** Whether the retry is ready or in flight: it needs nobody to make it due. */
  isInHand(offset: Offset): boolean {
    return this.#held.has(offset) && !this.#returned.has(offset);
  }

  /** Whether the retry was handed over and is not stored yet. Until then, its end must not be handed over. */
  isOnItsWay(offset: Offset): boolean {
    return this.#returned.has(offset);
  }

  /** A retry was handed over for storing: it counts as waiting. */
  handedOver(offset: Offset): void {
    if (this.#held.has(offset)) this.#returned.add(offset);
    else this.#unstored.add(offset);
  }

  /** A retry was handed over for storing with another due time. Until it is stored, a lease of the old one is ignored. */
  putBack(offset: Offset): void {
    this.#held.add(offset);
    this.#returned.add(offset);
  }

  /** A retry was stored. */
  put({ offset, dueAtMs }: Retry): void {
    // One that is in hand by now must not be leased a second time.
    if (this.#returned.delete(offset)) this.#held.delete(offset);
    if (this.#unstored.delete(offset)) this.#stored += 1;
    this.#noteDue(dueAtMs);
  }

  /** A retry was not stored, although it counts as waiting, because its message was removed. Call it after `put`. */
  leftOut(offset: Offset): void {
    this.#held.delete(offset);
    this.#stored = Math.max(0, this.#stored - 1);
  }

  #noteDue(dueAtMs: number): void {
    if (this.#asking) this.#putWhileAskingMs = earlier(this.#putWhileAskingMs, dueAtMs);
    else this.#nextDueMs = earlier(this.#nextDueMs, dueAtMs);
  }

  /** An outcome was stored. If the message was a retry, it is one no longer. */
  ended(offset: Offset): void {
    this.#returned.delete(offset);
    if (this.#held.delete(offset)) this.#stored = Math.max(0, this.#stored - 1);
  }
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}
