import type { DatabaseSync } from "node:sqlite";
import type { Applied } from "../calls/applied.js";
import { SEGMENT_STATE } from "../index/segments.js";
import type { AppliedMark } from "../replica/applied-mark.js";

const CLEARED = [
  "log_rows",
  "segments",
  "sidecars",
  "tail",
  "chunks",
  "strings",
  "late_outcomes",
  "late_attempts",
  "retries",
  "rejections",
  "usage",
] as const;

/**
 * Deletes the log and all data about its messages, in one transaction. Stores the next offset as an empty segment, so that no offset is
 * assigned twice. `alsoWrite` runs in the same transaction.
 */
export function clearTables(
  database: DatabaseSync,
  next: { readonly segment: number; readonly offset: number },
  alsoWrite: () => void,
): void {
  const { segment, offset } = next;
  database.exec("BEGIN IMMEDIATE");
  for (const table of CLEARED) database.exec(`DELETE FROM ${table}`);
  database.prepare("UPDATE consumers SET cursor = max(cursor, ?), range = NULL").run(offset - 1);
  database
    .prepare(
      'INSERT INTO segments (no, first, "end", messages, bytes, min_ms, max_ms, state) VALUES (?, ?, ?, 0, 0, 0, 0, ?)',
    )
    .run(segment, offset, offset, SEGMENT_STATE.marks);
  alsoWrite();
  database.exec("COMMIT");
}

/** A commit is due when the entries in it have changed about so many bytes. */
const COMMIT_BYTES = 1024 * 1024;
/** About the size of the pages that every commit changes: the last page of each table, and the pages above it. */
const PAGES_A_COMMIT_BYTES = 64 * 1024;

/**
 * The transaction that many entries of the log share, so that each page they change is written once. It is not synced: after a crash, the
 * log has the entries that the database lacks. What it contains is in the log, except for entries that are applied to a copy.
 */
export class Transaction {
  readonly #database: DatabaseSync;
  readonly #mark: AppliedMark;
  /** The last entry in it. */
  #applied: Applied;
  #bytes = 0;

  constructor(database: DatabaseSync, mark: AppliedMark) {
    this.#database = database;
    this.#mark = mark;
    this.#applied = mark.value;
  }

  get applied(): Applied {
    return this.#applied;
  }

  get isOpen(): boolean {
    return this.#database.isTransaction;
  }

  begin(): void {
    if (!this.isOpen) this.#database.exec("BEGIN IMMEDIATE");
  }

  /** Counts what was written since `begin`. `applied`: it was an entry. */
  wrote(bytes: number, applied: Applied = this.#applied): void {
    this.#bytes += bytes;
    this.#applied = applied;
  }

  get isDue(): boolean {
    return this.#bytes >= COMMIT_BYTES;
  }

  /** Returns about how much the write-ahead log has grown. */
  commit(): number {
    if (!this.isOpen) return 0;
    this.#mark.move(this.#applied);
    this.#database.exec("COMMIT");
    const bytes = this.#bytes + PAGES_A_COMMIT_BYTES;
    this.#bytes = 0;
    return bytes;
  }

  /** Undoes everything since `begin`. */
  rollback(): void {
    if (this.isOpen) this.#database.exec("ROLLBACK");
    this.#applied = this.#mark.value;
    this.#bytes = 0;
  }
}
