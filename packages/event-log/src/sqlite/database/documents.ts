import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { DocumentOperations, StoredDocument } from "../calls/operations.js";
import { Refusal } from "../calls/refusal.js";

/** Documents as JSON text. */
export class Documents {
  readonly #get: StatementSync;
  readonly #list: StatementSync;
  readonly #put: StatementSync;
  readonly #delete: StatementSync;

  constructor(database: DatabaseSync) {
    this.#get = database.prepare("SELECT id, version, json FROM documents WHERE kind = ? AND id = ?");
    this.#list = database.prepare("SELECT id, version, json FROM documents WHERE kind = ? ORDER BY no");
    this.#put = database.prepare(
      `INSERT INTO documents (kind, id, version, json) VALUES (?, ?, ?, ?)
       ON CONFLICT (kind, id) DO UPDATE SET version = excluded.version, json = excluded.json`,
    );
    this.#delete = database.prepare("DELETE FROM documents WHERE kind = ? AND id = ?");
  }

  get(kind: string, id: string): StoredDocument | undefined {
    return this.#get.get(kind, id) as unknown as StoredDocument | undefined;
  }

  list(kind: string): StoredDocument[] {
    return this.#list.all(kind) as unknown as StoredDocument[];
  }

  /** Checks every version before it writes anything. */
  put(puts: DocumentOperations["putDocuments"]["request"]["puts"]): { version: number }[] {
    const versions = puts.map(({ kind, id, expected }) => {
      const current = this.get(kind, id)?.version ?? 0;
      if (expected !== undefined && expected !== current) {
        throw new Refusal("conflict", `${kind} ${id} is at version ${current}`, {
          kind,
          id,
          version: current,
        });
      }
      return current + 1;
    });
    return puts.map(({ kind, id, json }, index) => {
      const version = versions[index] ?? 1;
      this.#put.run(kind, id, version, json);
      return { version };
    });
  }

  delete(kind: string, id: string): boolean {
    return this.#delete.run(kind, id).changes === 1;
  }
}
