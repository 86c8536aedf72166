import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type CarryOver, carriedOver, carryOver } from "../../rules/carry-over.js";
import type { DamageListener } from "../database/damage.js";
import { DamagedData, isContained, isDamage } from "../database/damage.js";
import { MetaNumber } from "../database/meta-number.js";
import { readRetryUrls } from "./retry-urls.js";

/** How often the clock reading is stored while there are retries. */
const NOTED_EVERY_MS = 60_000;
/** Maximum number of trial writes if retries are damaged: a few seconds. */
const MOST_TRIED = 200_000;

interface Times {
  readonly consumer: number;
  readonly offset: number;
  readonly due_ms: number;
  readonly put_ms: number;
  readonly first_ms: number;
  readonly urls: string;
}

/** The writes of `resume`. */
export interface Resumption {
  readonly hasRetries: boolean;
  readonly moved: readonly Times[];
}

/**
 * Converts the times of waiting retries after a restart. A process reads its monotonic clock from the wall time of its own start, so the
 * times of the previous process have to be shifted. Damaged retries keep their times.
 */
export class RetryClock {
  readonly #database: DatabaseSync;
  readonly #damaged: DamageListener;
  readonly #any: StatementSync;
  readonly #move: StatementSync;
  /** The last stored reading of the clock that the retry times are based on. */
  readonly #last: MetaNumber;
  #notedMs = Number.NEGATIVE_INFINITY;

  constructor(database: DatabaseSync, damaged: DamageListener) {
    this.#database = database;
    this.#damaged = damaged;
    this.#any = database.prepare("SELECT 1 FROM retries LIMIT 1");
    this.#move = database.prepare(
      "UPDATE retries SET due_ms = ?, put_ms = ?, first_ms = ?, urls = ? WHERE consumer = ? AND offset = ?",
    );
    this.#last = new MetaNumber(database, "retry_clock_ms");
  }

  /** Whether to call `note`. Call it before the transaction. */
  shallNote(nowMs: number): boolean {
    if (nowMs - this.#notedMs < NOTED_EVERY_MS) return false;
    try {
      return this.#any.get() !== undefined;
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#damaged(new DamagedData("retries", error));
      return true;
    }
  }

  /** Stores the clock reading. Within a transaction. */
  note(nowMs: number): void {
    this.#last.set(nowMs);
    this.#notedMs = nowMs;
  }

  /** Computes the writes of `resume`. Call it before the transaction: SQLite writes nothing more in a transaction that has met damage. */
  resumption(nowMs: number): Resumption {
    const { rows, isDamaged } = this.#read();
    if (rows.length === 0) return { hasRetries: false, moved: [] };
    const lastPutMs = rows.reduce(
      (last, { put_ms: putMs }) => Math.max(last, putMs),
      Number.NEGATIVE_INFINITY,
    );
    const shift = carryOver(Math.max(lastPutMs, this.#last.value ?? lastPutMs), nowMs);
    if (shift === undefined) return { hasRetries: true, moved: [] };
    const moved = rows.map((row) => this.#moved(row, shift));
    return { hasRetries: true, moved: isDamaged ? this.#writable(moved) : moved };
  }

  /** Within a transaction. */
  resume(nowMs: number, { hasRetries, moved }: Resumption): void {
    if (hasRetries) this.note(nowMs);
    for (const row of moved) this.#write(row);
  }

  #write({ due_ms: dueMs, put_ms: putMs, first_ms: firstMs, urls, consumer, offset }: Times): void {
    this.#move.run(dueMs, putMs, firstMs, urls, consumer, offset);
  }

  #moved(row: Times, shift: CarryOver): Times {
    const times = { dueAtMs: row.due_ms, firstAttemptAtMs: row.first_ms };
    let { dueAtMs, firstAttemptAtMs } = carriedOver(times, shift);
    let { urls } = row;
    try {
      const texts = readRetryUrls(urls, row.offset);
      const moved = carriedOver({ ...times, ...(texts.urls && { urls: texts.urls }) }, shift);
      ({ dueAtMs, firstAttemptAtMs } = moved);
      urls = JSON.stringify({ ...texts, urls: moved.urls });
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#damaged(error);
    }
    return { ...row, due_ms: dueAtMs, put_ms: row.put_ms + shift.dueMs, first_ms: firstAttemptAtMs, urls };
  }

  /** The readable retries. With damage: those before the first damaged row and those after the last one. */
  #read(): { readonly rows: readonly Times[]; readonly isDamaged: boolean } {
    const rows = new Map<string, Times>();
    const read = (order: "ASC" | "DESC"): boolean => {
      const select = this.#database.prepare(
        `SELECT consumer, offset, due_ms, put_ms, first_ms, urls FROM retries
         ORDER BY consumer ${order}, offset ${order}`,
      );
      return this.#isSound(() => {
        for (const row of select.iterate() as unknown as Iterable<Times>)
          rows.set(`${row.consumer} ${row.offset}`, row);
      });
    };
    const isSound = read("ASC");
    if (!isSound) read("DESC");
    // The sum reads the whole index.
    const index = this.#database.prepare("SELECT sum(due_ms) FROM retries INDEXED BY retries_by_due");
    const isIndexSound = this.#isSound(() => void index.get());
    return { rows: [...rows.values()], isDamaged: !isSound || !isIndexSound };
  }

  /** Runs `read`. Returns false if it meets damage. */
  #isSound(read: () => void): boolean {
    try {
      read();
      return true;
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#damaged(new DamagedData("retries", error));
      return false;
    }
  }

  /** A largest part of the rows that can be written together: a write next to a damaged page may need that page. */
  #writable(rows: readonly Times[]): readonly Times[] {
    let kept: readonly Times[] = [];
    let left = MOST_TRIED;
    const add = (more: readonly Times[]): void => {
      const all = [...kept, ...more];
      left -= all.length;
      if (more.length === 0 || left < 0) return;
      if (this.#canWrite(all)) kept = all;
      else if (more.length > 1) {
        add(more.slice(0, more.length / 2));
        add(more.slice(more.length / 2));
      }
    };
    add(rows);
    return kept;
  }

  /** Tries the writes in a transaction that is rolled back. */
  #canWrite(rows: readonly Times[]): boolean {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      for (const row of rows) this.#write(row);
      return true;
    } catch (error) {
      if (!isContained(error)) throw error;
      return false;
    } finally {
      // SQLite may have rolled it back already.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
    }
  }
}
