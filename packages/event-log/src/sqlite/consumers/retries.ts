import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Offset } from "../../message/batch.js";
import type { Lane, Retry } from "../../ports/consumers.js";
import { DamagedData, isDamage, reading } from "../database/damage.js";

/** The URLs of a retry, and its `notBeforeMs`. All but `doneUrls` are optional. */
type RetryUrls = Pick<Retry, "doneUrls" | "failedUrls" | "urls" | "notBeforeMs">;

/** Reads the column `urls` of a retry. Throws `DamagedData` if it is not what was written. */
export function readRetryUrls(text: string, offset: number): RetryUrls {
  const what = `the URLs of the retry of the message ${offset}`;
  let urls: Partial<RetryUrls> | null;
  try {
    urls = JSON.parse(text) as Partial<RetryUrls> | null;
  } catch (error) {
    throw new DamagedData(what, error);
  }
  if (!Array.isArray(urls?.doneUrls)) throw new DamagedData(what);
  return urls as RetryUrls;
}

interface RetryRow {
  readonly offset: number;
  readonly due_ms: number;
  readonly put_ms: number;
  readonly rounds: number;
  readonly first_ms: number;
  readonly reason: string;
  /** JSON: see `RetryUrls`. */
  readonly urls: string;
  readonly replay: number;
  readonly lane: number | null;
}

/** The statements that the queues of all consumers share. */
export class RetryTable {
  readonly put: StatementSync;
  readonly drop: StatementSync;
  readonly at: StatementSync;
  readonly oldest: StatementSync;
  readonly due: StatementSync;
  readonly count: StatementSync;
  readonly early: StatementSync;
  readonly inLane: StatementSync;
  readonly lanes: StatementSync;
  readonly withoutLane: StatementSync;
  readonly setLane: StatementSync;

  /** Called with each error about damaged data that was skipped. */
  readonly damaged: (error: unknown) => void;

  constructor(database: DatabaseSync, damaged: (error: unknown) => void) {
    this.damaged = damaged;
    this.put = database.prepare(
      `INSERT INTO retries (consumer, offset, due_ms, put_ms, rounds, first_ms, reason, urls, replay, lane)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (consumer, offset) DO UPDATE SET
       due_ms = excluded.due_ms, put_ms = excluded.put_ms, rounds = excluded.rounds, first_ms = excluded.first_ms,
       reason = excluded.reason, urls = excluded.urls, replay = excluded.replay, lane = coalesce(excluded.lane, lane)`,
    );
    this.drop = database.prepare("DELETE FROM retries WHERE consumer = ? AND offset = ?");
    this.at = database.prepare("SELECT * FROM retries WHERE consumer = ? AND offset = ?");
    this.oldest = database.prepare("SELECT min(offset) AS oldest FROM retries WHERE consumer = ?");
    this.due = database.prepare(
      "SELECT * FROM retries WHERE consumer = ? AND due_ms <= ? ORDER BY due_ms, offset",
    );
    this.early = database.prepare(
      "SELECT * FROM retries WHERE consumer = ? AND put_ms <= ? AND rounds > 0 ORDER BY due_ms, offset",
    );
    this.count = database.prepare("SELECT count(*) AS count FROM retries WHERE consumer = ?");
    this.inLane = database.prepare(
      "SELECT * FROM retries WHERE consumer = ? AND lane = ? ORDER BY offset LIMIT ?",
    );
    this.lanes = database.prepare(
      `SELECT lane, min(offset) AS first, max(offset) AS last, count(*) AS count FROM retries
       WHERE consumer = ? AND lane > ? GROUP BY lane ORDER BY lane LIMIT ?`,
    );
    this.withoutLane = database.prepare(
      "SELECT * FROM retries WHERE consumer = ? AND offset > ? AND lane IS NULL AND replay = 0 ORDER BY offset LIMIT ?",
    );
    this.setLane = database.prepare("UPDATE retries SET lane = ? WHERE consumer = ? AND offset = ?");
  }
}

/** A retry, and when it was stored. */
interface WaitingRetry {
  readonly retry: Retry;
  readonly putAtMs: number;
}

/** The retries of one consumer. Their number is in memory, so a consumer without retries does not query the table. */
export class RetryQueue {
  readonly #table: RetryTable;
  readonly #consumerNo: number;
  #count = 0;
  /** False if the table is damaged: there may be more retries than `#count`. */
  #isCounted = true;
  /** When the lease of a retry ends, by offset. Leases do not survive a restart. */
  readonly #leases = new Map<number, number>();

  /** Does not count for a new consumer: it has no retries, and a damaged table would end the transaction that creates it. */
  constructor(table: RetryTable, consumerNo: number, { isNew }: { readonly isNew: boolean }) {
    this.#table = table;
    this.#consumerNo = consumerNo;
    if (!isNew) this.recount();
  }

  /** Reads the number of retries again. Call after a rollback. */
  recount(): void {
    try {
      this.#count = (this.#table.count.get(this.#consumerNo) as { count: number }).count;
      this.#isCounted = true;
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#isCounted = false;
      this.#table.damaged(new DamagedData("retries", error));
    }
  }

  /** Whoever leased them does not use them any more. */
  endLeases(): void {
    this.#leases.clear();
  }

  get #mayHaveAny(): boolean {
    return this.#count > 0 || !this.#isCounted;
  }

  get count(): number {
    return this.#count;
  }

  /** Within a transaction. */
  put(retry: Retry, nowMs: number): void {
    const { offset, dueAtMs, notBeforeMs, rounds, firstAttemptAtMs, reason, replay } = retry;
    const { doneUrls, failedUrls, urls } = retry;
    if (this.#table.at.get(this.#consumerNo, offset) === undefined) this.#count += 1;
    this.#table.put.run(
      this.#consumerNo,
      offset,
      Math.round(dueAtMs),
      nowMs,
      rounds,
      Math.round(firstAttemptAtMs),
      reason,
      JSON.stringify({ doneUrls, failedUrls, urls, notBeforeMs }),
      Number(replay),
      retry.lane ?? null,
    );
    this.#leases.delete(offset);
  }

  /** Puts the retry of a message into a lane, if there is one. Within a transaction. */
  setLane(offset: number, lane: number): void {
    this.#table.setLane.run(lane, this.#consumerNo, offset);
  }

  /** See `Consumers.inLane`. */
  inLane(lane: number, limit: number): Retry[] {
    if (!this.#mayHaveAny) return [];
    return this.#read(() => this.#table.inLane.all(this.#consumerNo, lane, limit));
  }

  /** See `Consumers.lanes`. */
  lanes(limit: number, after: number = Number.MIN_SAFE_INTEGER): Lane[] {
    if (!this.#mayHaveAny) return [];
    const lanes = reading(
      () => "retries by lane",
      () => this.#table.lanes.all(this.#consumerNo, after, limit),
    ) as unknown as readonly { lane: number; first: number; last: number; count: number }[];
    return lanes.flatMap(({ lane, first, last, count }) => {
      const waiting = this.at(first);
      return waiting === undefined ? [] : [{ lane, first: waiting.retry, last: last as Offset, count }];
    });
  }

  /** See `Consumers.withoutLane`. */
  withoutLane(after: number, limit: number): Retry[] {
    if (!this.#mayHaveAny) return [];
    return this.#read(() => this.#table.withoutLane.all(this.#consumerNo, after, limit));
  }

  #read(rows: () => unknown[]): Retry[] {
    return (reading(() => "retries", rows) as RetryRow[]).map((row) => this.#retryOf(row));
  }

  /** Deletes the retry of a message. Returns false if there was none. Within a transaction. */
  drop(offset: number): boolean {
    if (!this.#mayHaveAny || this.#table.drop.run(this.#consumerNo, offset).changes === 0) return false;
    this.#count = Math.max(0, this.#count - 1);
    this.#leases.delete(offset);
    return true;
  }

  at(offset: number): WaitingRetry | undefined {
    if (!this.#mayHaveAny) return undefined;
    const row = reading(
      () => `retries near the message ${offset}`,
      () => this.#table.at.get(this.#consumerNo, offset) as unknown as RetryRow | undefined,
    );
    return row && { retry: this.#retryOf(row), putAtMs: row.put_ms };
  }

  /** The lowest offset that has a retry. */
  get oldestOffset(): number | undefined {
    if (!this.#mayHaveAny) return undefined;
    return (this.#table.oldest.get(this.#consumerNo) as { oldest: number | null }).oldest ?? undefined;
  }

  /** `storedUntilMs`: leases retries early; see `Consumers.lease`. */
  lease(nowMs: number, untilMs: number, limit: number, storedUntilMs?: number): Retry[] {
    const leased: Retry[] = [];
    if (!this.#mayHaveAny || limit <= 0) return leased;
    try {
      const rows =
        storedUntilMs === undefined ? this.#unleased(nowMs, nowMs) : this.#storedUntil(storedUntilMs, nowMs);
      for (const row of rows) {
        const retry = this.#retryOf(row);
        if (storedUntilMs !== undefined && (retry.notBeforeMs ?? nowMs) > nowMs) continue;
        leased.push(retry);
        if (leased.length >= limit) break;
      }
    } catch (error) {
      // The retries before a damaged row are leased. The next call begins with the damaged row, and then it throws.
      if (!isDamage(error) || leased.length === 0) throw error;
    }
    for (const { offset } of leased) this.#leases.set(offset, untilMs);
    return leased;
  }

  /** When the first retry is due that is not leased at `nowMs`. */
  nextDueMs(nowMs: number): number | undefined {
    if (!this.#mayHaveAny) return undefined;
    const [first] = this.#unleased(Number.MAX_SAFE_INTEGER, nowMs);
    return first?.due_ms;
  }

  /** The retries that are due at `dueMs` and not leased at `nowMs`, in the order of their due times. */
  *#unleased(dueMs: number, nowMs: number): Generator<RetryRow> {
    for (const raw of this.#table.due.iterate(this.#consumerNo, dueMs)) {
      const row = raw as unknown as RetryRow;
      if ((this.#leases.get(row.offset) ?? 0) <= nowMs) yield row;
    }
  }

  /** The retries with attempts that were stored until then and are not leased, in the order of their due times. */
  *#storedUntil(storedUntilMs: number, nowMs: number): Generator<RetryRow> {
    for (const raw of this.#table.early.iterate(this.#consumerNo, storedUntilMs)) {
      const row = raw as unknown as RetryRow;
      if ((this.#leases.get(row.offset) ?? 0) <= nowMs) yield row;
    }
  }

  #retryOf(row: RetryRow): Retry {
    return {
      offset: row.offset as Offset,
      rounds: row.rounds,
      firstAttemptAtMs: row.first_ms,
      dueAtMs: row.due_ms,
      reason: row.reason,
      ...this.#urlsOf(row),
      replay: row.replay === 1,
      ...(row.lane === null ? {} : { lane: row.lane }),
    };
  }

  /** If the URLs are damaged, the message is sent to all URLs, perhaps twice to some. */
  #urlsOf({ urls, offset }: RetryRow): RetryUrls {
    try {
      return readRetryUrls(urls, offset);
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#table.damaged(error);
      return { doneUrls: [] };
    }
  }
}
