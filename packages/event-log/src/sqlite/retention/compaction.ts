import type { DatabaseSync, StatementSync } from "node:sqlite";

/** Free pages that one step returns. It writes up to this many pages to the write-ahead log, because pages may have to move. */
const PAGES_AT_ONCE = 64;
const MOST_NEW_PAGES = 1_024;

/**
 * The stages of a compaction. At the end, no deleted byte is left in the files, including the old pages in the write-ahead log.
 *
 *   pages   free pages are returned to the file system, in steps that each have their own commit
 *   log     a checkpoint copies the write-ahead log to the database; this is short, because checkpoints run regularly
 *   empty   the write-ahead log is truncated
 */
type Stage = "pages" | "log" | "empty";

export interface CompactionParts {
  readonly database: DatabaseSync;
  /** Runs a step within a transaction. `run` returns the approximate bytes written. */
  commit(run: () => number): void;
  checkpoint(): void;
  /** Throws a `Refusal` if another connection is reading the write-ahead log. */
  emptyLogFile(): void;
}

export class Compaction {
  readonly #parts: CompactionParts;
  readonly #freeCount: StatementSync;
  readonly #pageBytes: number;
  #stage: Stage = "pages";
  /** A limit of pages to return, because pages become free meanwhile and the stage must end. */
  #pagesLeft: number;

  constructor(parts: CompactionParts, pageBytes: number) {
    this.#parts = parts;
    this.#pageBytes = pageBytes;
    this.#freeCount = parts.database.prepare("PRAGMA freelist_count");
    this.#pagesLeft = 2 * this.#freePages + MOST_NEW_PAGES;
  }

  get #freePages(): number {
    return (this.#freeCount.get() as { freelist_count: number }).freelist_count;
  }

  /** Runs one step. Returns true if it was the last. */
  workNext(): boolean {
    switch (this.#stage) {
      case "pages":
        this.#giveBack();
        return false;
      case "log":
        this.#parts.checkpoint();
        this.#stage = "empty";
        return false;
      case "empty":
        this.#parts.emptyLogFile();
        return true;
      default:
        return this.#stage satisfies never;
    }
  }

  #giveBack(): void {
    if (this.#pagesLeft <= 0 || this.#freePages === 0) {
      this.#stage = "log";
      return;
    }
    this.#parts.commit(() => {
      this.#parts.database.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`);
      return PAGES_AT_ONCE * this.#pageBytes;
    });
    this.#pagesLeft -= PAGES_AT_ONCE;
  }
}
