import type { DatabaseSync, StatementSync } from "node:sqlite";
import { carriedOver, carryOver } from "../../carry-over.js";
import type { Retry } from "../../store.js";
import { MetaNumber } from "./meta-number.js";

/** How often the clock's reading is written while retries wait. */
const NOTED_EVERY_MS = 60_000;

interface Times {
  readonly consumer: number;
  readonly offset: number;
  readonly due_ms: number;
  readonly put_ms: number;
  readonly first_ms: number;
  readonly urls: string;
}

/** Brings the times of waiting retries from one process to the next: each counts from the wall time of its own start. */
export class RetryClock {
  readonly #database: DatabaseSync;
  readonly #any: StatementSync;
  /** The last known reading of the clock that the times of retries are of. */
  readonly #last: MetaNumber;
  #notedMs = Number.NEGATIVE_INFINITY;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#any = database.prepare("SELECT 1 FROM retries LIMIT 1");
    this.#last = new MetaNumber(database, "retry_clock_ms");
  }

  /** Remembers from time to time how late it is, where retries wait. Within a transaction. */
  note(nowMs: number): void {
    if (nowMs - this.#notedMs < NOTED_EVERY_MS || this.#any.get() === undefined) return;
    this.#last.set(nowMs);
    this.#notedMs = nowMs;
  }

  /** Within a transaction. */
  resume(nowMs: number): void {
    if (this.#any.get() === undefined) return;
    const shift = carryOver(this.#lastMs(), nowMs);
    this.note(nowMs);
    if (shift === undefined) return;
    const change = this.#database.prepare(
      "UPDATE retries SET due_ms = ?, put_ms = ?, first_ms = ?, urls = ? WHERE consumer = ? AND offset = ?",
    );
    const rows = this.#database
      .prepare("SELECT consumer, offset, due_ms, put_ms, first_ms, urls FROM retries")
      .all() as unknown as Times[];
    for (const {
      consumer,
      offset,
      due_ms: dueAtMs,
      put_ms: putMs,
      first_ms: firstAttemptAtMs,
      urls,
    } of rows) {
      const texts = JSON.parse(urls) as Pick<Retry, "doneUrls" | "failedUrls" | "urls">;
      const moved = carriedOver(
        { dueAtMs, firstAttemptAtMs, ...(texts.urls && { urls: texts.urls }) },
        shift,
      );
      const movedTexts = JSON.stringify({ ...texts, urls: moved.urls });
      change.run(moved.dueAtMs, putMs + shift.dueMs, moved.firstAttemptAtMs, movedTexts, consumer, offset);
    }
  }

  #lastMs(): number {
    const { put } = this.#database.prepare("SELECT max(put_ms) AS put FROM retries").get() as { put: number };
    return Math.max(put, this.#last.value ?? put);
  }
}
