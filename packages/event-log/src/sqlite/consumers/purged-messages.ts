import type { DatabaseSync, StatementSync } from "node:sqlite";

/**
 * Messages purged while attempts at them may be under way. Attempts and retries that arrive later must not store their data again. They
 * are stored, because whoever applies the log's entries later has to decide the same.
 */
export class PurgedMessages {
  /** SQL that removes them from a database. */
  static readonly removal = "DROP TABLE IF EXISTS replica_purged";

  readonly #purged: Set<number>;
  readonly #insert: StatementSync;
  readonly #clear: StatementSync;

  constructor(database: DatabaseSync) {
    database.exec("CREATE TABLE IF NOT EXISTS replica_purged (offset INTEGER PRIMARY KEY) STRICT");
    const rows = database.prepare("SELECT offset FROM replica_purged").all();
    this.#purged = new Set(rows.map(({ offset }) => offset as number));
    this.#insert = database.prepare("INSERT OR IGNORE INTO replica_purged (offset) VALUES (?)");
    this.#clear = database.prepare("DELETE FROM replica_purged");
  }

  get isEmpty(): boolean {
    return this.#purged.size === 0;
  }

  has(offset: number): boolean {
    return this.#purged.has(offset);
  }

  add(offsets: readonly number[]): void {
    for (const offset of offsets) {
      this.#insert.run(offset);
      this.#purged.add(offset);
    }
  }

  /** What an earlier process had under way cannot arrive any more. Within a transaction. */
  forget(): void {
    this.#clear.run();
    this.#purged.clear();
  }
}
