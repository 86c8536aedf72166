import type { DatabaseSync, StatementSync } from "node:sqlite";

/** Messages purged while attempts at them may be under way. Attempts and retries that arrive later must not store their data again. */
export interface PurgedMessages {
  has(offset: number): boolean;
  /** Within a transaction. */
  add(offsets: readonly number[]): void;
}

/** Those of a store that belongs to one process: nothing that was under way outlives it. */
export function purgedSinceTheStart(): PurgedMessages {
  const purged = new Set<number>();
  return {
    has: (offset) => purged.has(offset),
    add(offsets) {
      for (const offset of offsets) purged.add(offset);
    },
  };
}

/** Those of a copy. They are stored, because a copy that is opened again or comes from a snapshot has to decide as all others do. */
export class PurgedSinceTakeover implements PurgedMessages {
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

  has(offset: number): boolean {
    return this.#purged.has(offset);
  }

  add(offsets: readonly number[]): void {
    for (const offset of offsets) {
      this.#insert.run(offset);
      this.#purged.add(offset);
    }
  }

  /** What an earlier owner had under way is ignored from now on. Within a transaction, after which the store is opened again. */
  forget(): void {
    this.#clear.run();
  }
}
