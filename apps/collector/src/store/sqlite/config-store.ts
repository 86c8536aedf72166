import { CollectorError, VersionConflict } from "../../errors.js";
import type { ConfigChange, ConfigStore, Versioned } from "../store.js";
import type { Connection } from "./connection.js";
import type { StoredDocument } from "./operations.js";

/** The main thread's side of the documents. One process has the folder, so its own changes are all there are to watch. */
export function sqliteConfigStore(connection: () => Connection): ConfigStore {
  const listeners = new Set<(change: ConfigChange) => void>();
  const changed = (change: ConfigChange): void => {
    for (const listener of listeners) listener(change);
  };

  return {
    async get<T>(kind: string, id: string) {
      const document = await connection().ask("getDocument", { kind, id });
      return document && parsed<T>(document);
    },
    async list<T>(kind: string) {
      return (await connection().ask("listDocuments", { kind })).map((document) => parsed<T>(document));
    },
    async put<T>(kind: string, id: string, value: T, expected?: number) {
      const request = { kind, id, json: JSON.stringify(value), expected };
      const { version } = await connection()
        .ask("putDocument", request)
        .catch((error: unknown) => {
          const current = error instanceof CollectorError ? error.details.version : undefined;
          throw typeof current === "number" ? new VersionConflict(kind, id, current) : error;
        });
      changed({ kind, id });
      return { id, version, value };
    },
    async delete(kind, id) {
      const existed = await connection().ask("deleteDocument", { kind, id });
      if (existed) changed({ kind, id });
      return existed;
    },
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function parsed<T>({ id, version, json }: StoredDocument): Versioned<T> {
  return { id, version, value: JSON.parse(json) as T };
}
