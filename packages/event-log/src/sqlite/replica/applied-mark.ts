import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type Applied, NOTHING_APPLIED } from "../calls/applied.js";

/** The place of `Applied` in a database, and of the parts of an entry that is not complete. */
export class AppliedMark {
  /** SQL that removes it from a database. */
  static readonly removal = "DROP TABLE IF EXISTS replica; DROP TABLE IF EXISTS replica_parts";

  readonly #read: StatementSync;
  readonly #write: StatementSync;
  readonly #putPart: StatementSync;
  readonly #parts: StatementSync;
  readonly #dropParts: StatementSync;

  constructor(database: DatabaseSync) {
    database.exec(
      "CREATE TABLE IF NOT EXISTS replica (only INTEGER PRIMARY KEY CHECK (only = 1), applied TEXT NOT NULL) STRICT",
    );
    database.exec(
      "CREATE TABLE IF NOT EXISTS replica_parts (place INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT",
    );
    this.#putPart = database.prepare("INSERT OR REPLACE INTO replica_parts (place, data) VALUES (?, ?)");
    this.#parts = database.prepare("SELECT data FROM replica_parts ORDER BY place");
    this.#dropParts = database.prepare("DELETE FROM replica_parts");
    this.#read = database.prepare("SELECT applied FROM replica");
    this.#write = database.prepare("INSERT OR REPLACE INTO replica (only, applied) VALUES (1, ?)");
  }

  get value(): Applied {
    const row = this.#read.get() as { applied: string } | undefined;
    return row === undefined ? NOTHING_APPLIED : (JSON.parse(row.applied) as Applied);
  }

  set(applied: Applied): void {
    this.move(applied);
    this.dropParts();
  }

  /** Every entry but a part ends the parts before it: they belong to it, or their session was replaced. Within a transaction. */
  dropParts(): void {
    this.#dropParts.run();
  }

  /** Within a transaction. */
  move(applied: Applied): void {
    this.#write.run(JSON.stringify(applied));
  }

  get parts(): readonly Uint8Array[] {
    return this.#parts.all().map(({ data }) => data as Uint8Array);
  }

  /** Within a transaction. */
  addPart(place: number, data: Uint8Array): void {
    this.#putPart.run(place, data);
  }
}
