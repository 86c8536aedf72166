import type { DatabaseSync, StatementSync } from "node:sqlite";

/** Free pages that one step gives back: it writes as many to the write-ahead log where pages have to change places. */
const PAGES_AT_ONCE = 64;
const MOST_NEW_PAGES = 1_024;

/**
 * What is left to be done until no byte of what was deleted is in the files: free pages go back to the file system step by
 * step, each a commit of its own, then the write-ahead log is emptied, which has old versions of pages.
 *
 *   pages   free pages are given back
 *   log     the write-ahead log is brought into the database; little is left of it, since it is done from time to time anyway
 *   empty   the write-ahead log is cut to nothing
 */
type Stage = "pages" | "log" | "empty";

export interface CompactionParts {
  readonly database: DatabaseSync;
  /** Runs a step within a transaction; it tells about how many bytes it has written. */
  commit(run: () => number): void;
  checkpoint(): void;
  /** Throws a `Refusal` where somebody is reading the write-ahead log. */
  emptyLogFile(): void;
}

export class Compaction {
  readonly #parts: CompactionParts;
  readonly #freeCount: StatementSync;
  readonly #pageBytes: number;
  #stage: Stage = "pages";
  /** Pages become free while it is under way: there is an end to how many of those are waited for. */
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

  /** One step; true when it was the last. */
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
