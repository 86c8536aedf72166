import type { DatabaseSync, StatementSync } from "node:sqlite";

/** A number in the table `meta`. */
export class MetaNumber {
  readonly #name: string;
  readonly #read: StatementSync;
  readonly #write: StatementSync;

  constructor(database: DatabaseSync, name: string) {
    this.#name = name;
    this.#read = database.prepare("SELECT value FROM meta WHERE name = ?");
    this.#write = database.prepare(
      "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    );
  }

  get value(): number | undefined {
    return this.#read.get(this.#name)?.value as number | undefined;
  }

  /** Within a transaction. */
  set(value: number): void {
    this.#write.run(this.#name, value);
  }
}
