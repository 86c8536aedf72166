import type { Clock } from "@sluice/resilience";
import type { Offset } from "../message/batch.js";
import type { Attempt, Delivery, Lane, Outcome, Retry, SentRange } from "../ports/consumers.js";
import { carriedOver, type carryOver, dueAt, newReplay } from "../rules/carry-over.js";
import { inWallTime } from "../rules/in-wall-time.js";

/** One consumer: its cursor, and the outcomes, retries and attempts of messages. */
export class MemoryConsumer {
  readonly id: string;
  cursor: Offset;
  range: SentRange | null = null;
  readonly #outcomes = new Map<Offset, Outcome>();
  readonly #retries = new Map<Offset, { readonly retry: Retry; readonly putAtMs: number }>();
  readonly #attempts = new Map<Offset, Attempt[]>();
  /** When the lease of a retry ends. */
  readonly #leases = new Map<Offset, number>();

  constructor(id: string, cursor: Offset) {
    this.id = id;
    this.cursor = cursor;
  }

  get retryCount(): number {
    return this.#retries.size;
  }

  /** Offsets of messages that have an outcome or a retry. */
  get settled(): Set<Offset> {
    return new Set([...this.#outcomes.keys(), ...this.#retries.keys()]);
  }

  attemptsOf(offset: Offset): readonly Attempt[] {
    return this.#attempts.get(offset) ?? [];
  }

  addAttempt(attempt: Attempt): void {
    this.#attempts.set(attempt.offset, [...this.attemptsOf(attempt.offset), attempt]);
  }

  putOutcome(outcome: Outcome): void {
    this.#outcomes.set(outcome.offset, outcome);
    this.#retries.delete(outcome.offset);
    this.#leases.delete(outcome.offset);
  }

  putRetry(retry: Retry, putAtMs: number): void {
    const lane = retry.lane ?? this.#retries.get(retry.offset)?.retry.lane;
    this.#retries.set(retry.offset, { retry: lane === undefined ? retry : { ...retry, lane }, putAtMs });
    this.#leases.delete(retry.offset);
  }

  setLane(offset: Offset, lane: number): void {
    const waiting = this.#retries.get(offset);
    if (waiting !== undefined) this.#retries.set(offset, { ...waiting, retry: { ...waiting.retry, lane } });
  }

  inLane(lane: number, limit: number): Retry[] {
    return this.#inOrder((retry) => retry.lane === lane).slice(0, limit);
  }

  lanes(limit: number, after: number): Lane[] {
    const lanes = new Map<number, Lane>();
    for (const retry of this.#inOrder(({ lane }) => lane !== undefined && lane > after)) {
      const { lane = after, offset: last } = retry;
      const { first, count } = lanes.get(lane) ?? { first: retry, count: 0 };
      lanes.set(lane, { lane, first, last, count: count + 1 });
    }
    return [...lanes.values()].sort((a, b) => a.lane - b.lane).slice(0, limit);
  }

  withoutLane(after: Offset, limit: number): Retry[] {
    return this.#inOrder(({ lane, offset, replay }) => lane === undefined && offset > after && !replay).slice(
      0,
      limit,
    );
  }

  /** In the order of the log. */
  #inOrder(isWanted: (retry: Retry) => boolean): Retry[] {
    return [...this.#retries.values()]
      .map(({ retry }) => retry)
      .filter(isWanted)
      .sort((a, b) => a.offset - b.offset);
  }

  /** Whoever leased its retries does not use them any more. */
  endLeases(): void {
    this.#leases.clear();
  }

  /** Ends all leases. `shift` moves the times of the retries to another process's clock. */
  resume(shift: ReturnType<typeof carryOver>): void {
    this.endLeases();
    if (shift === undefined) return;
    for (const [offset, { retry, putAtMs }] of this.#retries) {
      const moved = { ...retry, ...carriedOver(retry, shift) };
      this.#retries.set(offset, { retry: moved, putAtMs: putAtMs + shift.dueMs });
    }
  }

  lease(nowMs: number, untilMs: number, limit: number, storedUntilMs?: number): Retry[] {
    const mayStart = (retry: Retry): boolean =>
      storedUntilMs === undefined ? retry.dueAtMs <= nowMs : this.#isReleasable(retry, storedUntilMs, nowMs);
    const due = this.#unleased(nowMs)
      .filter(mayStart)
      .sort((a, b) => a.dueAtMs - b.dueAtMs || a.offset - b.offset)
      .slice(0, limit);
    for (const { offset } of due) this.#leases.set(offset, untilMs);
    return due;
  }

  #isReleasable({ offset, rounds, notBeforeMs = 0 }: Retry, storedUntilMs: number, nowMs: number): boolean {
    const putAtMs = this.#retries.get(offset)?.putAtMs ?? Number.POSITIVE_INFINITY;
    return rounds > 0 && putAtMs <= storedUntilMs && notBeforeMs <= nowMs;
  }

  nextDueMs(nowMs: number): number | undefined {
    let earliest: number | undefined;
    for (const { dueAtMs } of this.#unleased(nowMs))
      if (earliest === undefined || dueAtMs < earliest) earliest = dueAtMs;
    return earliest;
  }

  #unleased(nowMs: number): Retry[] {
    return [...this.#retries.values()]
      .map(({ retry }) => retry)
      .filter(({ offset }) => (this.#leases.get(offset) ?? Number.NEGATIVE_INFINITY) <= nowMs);
  }

  /** Deletes the retry of a message and the texts of its attempts. Returns how many there were. */
  purge(offset: Offset): { readonly attempts: number; readonly retries: number } {
    const attempts = this.attemptsOf(offset);
    const redacted = attempts.map(
      ({ error, response: _, responseHeaders: __, requestHeaders: ___, ...rest }) => ({
        ...rest,
        ...(error === undefined ? {} : { error: { code: error.code, message: "(removed)" } }),
      }),
    );
    if (attempts.length > 0) this.#attempts.set(offset, redacted);
    this.#leases.delete(offset);
    return { attempts: attempts.length, retries: Number(this.#retries.delete(offset)) };
  }

  retryNow(offset: Offset, dueAtMs: number, states: readonly Delivery["state"][], nowMs: number): boolean {
    const waiting = this.#retries.get(offset)?.retry;
    const state = waiting === undefined ? this.#outcomes.get(offset)?.state : "pending";
    if (state === undefined || !states.includes(state)) return false;
    this.putRetry(dueAt(dueAtMs, waiting ?? newReplay(offset, dueAtMs)), nowMs);
    return true;
  }

  delivery(offset: Offset, clock: Clock): Delivery | undefined {
    const consumerId = this.id;
    const waiting = this.#retries.get(offset);
    if (waiting !== undefined) {
      const { retry, putAtMs } = waiting;
      const { reason, rounds, dueAtMs: nextAttemptAtMs } = retry;
      const pending = { consumerId, offset, state: "pending", reason, atMs: putAtMs, rounds } as const;
      return inWallTime({ ...pending, nextAttemptAtMs, retry }, clock);
    }
    const outcome = this.#outcomes.get(offset);
    if (outcome === undefined) return undefined;
    const { state, reason, atMs } = outcome;
    const rounds = Math.max(0, ...this.attemptsOf(offset).map(({ attempt }) => attempt));
    return { consumerId, offset, state, reason, atMs, rounds };
  }
}
