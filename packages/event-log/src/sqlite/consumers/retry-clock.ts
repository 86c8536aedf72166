import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type CarryOver, carriedOver, carryOver } from "../../rules/carry-over.js";
import type { DamageListener } from "../database/damage.js";
import { DamagedData, isContained, isDamage } from "../database/damage.js";
import { MetaNumber } from "../database/meta-number.js";
import { readRetryUrls } from "./retries.js";

/** How often the clock reading is stored while there are retries. */
const NOTED_EVERY_MS = 60_000;
/** Maximum number of trial writes if retries are damaged: a few seconds. */
const MOST_TRIED = 200_000;

/**
 * Messages that wait for an earlier one of their lane. There may be millions, and no other of their columns holds a time, so they are
 * moved by one statement and never read.
 */
const UNTRIED = `lane IS NOT NULL AND rounds = 0 AND urls = '{"doneUrls":[]}'`;

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
  /** How far to move the retries that `UNTRIED` selects. Absent: they are in `moved`, or stay. */
  readonly untried?: CarryOver;
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
  readonly #moveUntried: StatementSync;
  /** The last stored reading of the clock that the retry times are based on. */
  readonly #last: MetaNumber;

  constructor(database: DatabaseSync, damaged: DamageListener) {
    this.#database = database;
    this.#damaged = damaged;
    this.#any = database.prepare("SELECT 1 FROM retries LIMIT 1");
    this.#move = database.prepare(
      "UPDATE retries SET due_ms = ?, put_ms = ?, first_ms = ?, urls = ? WHERE consumer = ? AND offset = ?",
    );
    this.#moveUntried = database.prepare(
      `UPDATE retries SET due_ms = due_ms + ?, put_ms = put_ms + ?, first_ms = first_ms + ? WHERE ${UNTRIED}`,
    );
    this.#last = new MetaNumber(database, "retry_clock_ms");
  }

  /** Whether to call `note`. Call it before the transaction. */
  shallNote(nowMs: number): boolean {
    // By what is stored, so that all copies of a replicated log note the same.
    if (Math.abs(nowMs - (this.#last.value ?? Number.NEGATIVE_INFINITY)) < NOTED_EVERY_MS) return false;
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
  }

  /** Computes the writes of `resume`. Call it before the transaction: SQLite writes nothing more in a transaction that has met damage. */
  resumption(nowMs: number): Resumption {
    const { rows, isDamaged, untriedPutMs } = this.#read();
    if (rows.length === 0 && untriedPutMs === undefined) return { hasRetries: false, moved: [] };
    const lastPutMs = rows.reduce(
      (last, { put_ms: putMs }) => Math.max(last, putMs),
      untriedPutMs ?? Number.NEGATIVE_INFINITY,
    );
    const shift = carryOver(Math.max(lastPutMs, this.#last.value ?? lastPutMs), nowMs);
    if (shift === undefined) return { hasRetries: true, moved: [] };
    const moved = rows.map((row) => this.#moved(row, shift));
    if (isDamaged) return { hasRetries: true, moved: this.#writable(moved) };
    return { hasRetries: true, moved, ...(untriedPutMs === undefined ? {} : { untried: shift }) };
  }

  /** Within a transaction. */
  resume(nowMs: number, { hasRetries, moved, untried }: Resumption): void {
    if (hasRetries) this.note(nowMs);
    for (const row of moved) this.#write(row);
    if (untried !== undefined) this.#moveUntried.run(untried.dueMs, untried.dueMs, untried.windowMs);
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
      const { urls: own, notBeforeMs } = texts;
      const moved = carriedOver(
        { ...times, ...(own && { urls: own }), ...(notBeforeMs === undefined ? {} : { notBeforeMs }) },
        shift,
      );
      ({ dueAtMs, firstAttemptAtMs } = moved);
      urls = JSON.stringify({ ...texts, urls: moved.urls, notBeforeMs: moved.notBeforeMs });
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#damaged(error);
    }
    return { ...row, due_ms: dueAtMs, put_ms: row.put_ms + shift.dueMs, first_ms: firstAttemptAtMs, urls };
  }

  /**
   * The readable retries without the untried ones, of which `untriedPutMs` is when the last one was stored. With damage, all of them:
   * those before the first damaged row and those after the last one.
   */
  #read(): {
    readonly rows: readonly Times[];
    readonly isDamaged: boolean;
    readonly untriedPutMs?: number;
  } {
    const rows = new Map<string, Times>();
    const read = (where: string, order: "ASC" | "DESC"): boolean => {
      const select = this.#database.prepare(
        `SELECT consumer, offset, due_ms, put_ms, first_ms, urls FROM retries WHERE ${where}
         ORDER BY consumer ${order}, offset ${order}`,
      );
      return this.#isSound(() => {
        for (const row of select.iterate() as unknown as Iterable<Times>)
          rows.set(`${row.consumer} ${row.offset}`, row);
      });
    };
    const untried = this.#untriedPutMs();
    if (untried !== "damaged" && read(`NOT (${UNTRIED})`, "ASC"))
      return { rows: [...rows.values()], isDamaged: false, ...untried };
    if (!read("TRUE", "ASC")) read("TRUE", "DESC");
    return { rows: [...rows.values()], isDamaged: true };
  }

  #untriedPutMs(): { readonly untriedPutMs?: number } | "damaged" {
    // The sums read the whole indexes. As floating-point numbers: those of 5,000 times are beyond what an integer holds here.
    const indexes = [
      "SELECT total(due_ms) FROM retries INDEXED BY retries_by_due",
      "SELECT total(lane) FROM retries INDEXED BY retries_by_lane WHERE lane IS NOT NULL",
    ];
    const last = this.#database.prepare(`SELECT max(put_ms) AS last FROM retries WHERE ${UNTRIED}`);
    let untriedPutMs: number | null = null;
    const isSound = this.#isSound(() => {
      for (const index of indexes) this.#database.prepare(index).get();
      untriedPutMs = (last.get() as { last: number | null }).last;
    });
    if (!isSound) return "damaged";
    return untriedPutMs === null ? {} : { untriedPutMs };
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
