import type { ConfigChange, ConfigStore, DocumentPut, Versioned } from "../../ports/documents.js";
import { StoreError, VersionConflict } from "../../ports/errors.js";
import { configWatchers } from "../../rules/following.js";
import type { StoredDocument } from "../calls/operations.js";
import type { ConflictingDocument } from "../calls/refusal.js";
import type { StoreConnection } from "./connection.js";

/** The main thread's side of the documents. Only one process uses the folder, so watching its own changes is enough. */
export function sqliteConfigStore(connection: () => StoreConnection): ConfigStore {
  const watchers = configWatchers();
  /** Notifies the watchers when a change is answered. The store's thread answers in order, so the watchers see changes in order. */
  const follow = async <T>(asked: Promise<T>, changesOf: (answer: T) => ConfigChange[]): Promise<T> => {
    const answer = await asked;
    await watchers.notify(changesOf(answer));
    return answer;
  };
  const putDocuments = async (puts: readonly DocumentPut[]): Promise<number[]> => {
    const request = puts.map(({ kind, id, value, expected }) => ({
      kind,
      id,
      json: JSON.stringify(value),
      expected,
    }));
    const answers = await follow(connection().ask("putDocuments", { puts: request }), (versions) =>
      request.map(({ kind, id, json }, index) => ({
        kind,
        id,
        document: parsedDocument(kind, { id, json, version: versions[index]?.version ?? 1 }),
      })),
    ).catch((error: unknown) => {
      throw conflictOf(error) ?? error;
    });
    return answers.map(({ version }) => version);
  };

  return {
    async get<T>(kind: string, id: string) {
      const document = await connection().ask("getDocument", { kind, id });
      return document && parsedDocument<T>(kind, document);
    },
    async list<T>(kind: string) {
      return (await connection().ask("listDocuments", { kind })).map((document) =>
        parsedDocument<T>(kind, document),
      );
    },
    async put<T>(kind: string, id: string, value: T, expected?: number) {
      const [version] = await putDocuments([
        { kind, id, value, ...(expected === undefined ? {} : { expected }) },
      ]);
      return { id, version: version ?? 1, value };
    },
    async putAll(puts) {
      const versions = await putDocuments(puts);
      return puts.map(({ id, value }, index) => ({ id, version: versions[index] ?? 1, value }));
    },
    async delete(kind, id) {
      return follow(connection().ask("deleteDocument", { kind, id }), (existed) =>
        existed ? [{ kind, id }] : [],
      );
    },
    watch: (listener) => watchers.watch(listener),
  };
}

/** The worker's conflict as a `VersionConflict`. */
function conflictOf(error: unknown): VersionConflict | undefined {
  if (!(error instanceof StoreError)) return undefined;
  const { kind, id, version } = error.details as Partial<ConflictingDocument>;
  if (kind === undefined || id === undefined || version === undefined) return undefined;
  return new VersionConflict(kind, id, version);
}

export function parsedDocument<T>(kind: string, { id, version, json }: StoredDocument): Versioned<T> {
  try {
    return { id, version, value: JSON.parse(json) as T };
  } catch (cause) {
    throw new StoreError(
      "data_damaged",
      `the ${kind} ${id} is damaged: stop the collector and run \`sluice repair\``,
      { cause },
    );
  }
}
