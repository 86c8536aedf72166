import type { ConfigChange, ConfigStore, DocumentPut, Versioned } from "../ports/documents.js";
import { VersionConflict } from "../ports/errors.js";
import { configWatchers } from "../rules/config-watchers.js";

export function memoryConfigStore(): ConfigStore {
  /** Documents as JSON, so that no caller holds a reference into the store. */
  const kinds = new Map<string, Map<string, { version: number; json: string }>>();
  const watchers = configWatchers();
  const putAll = async (puts: readonly DocumentPut[]): Promise<number[]> => {
    const versions = puts.map(({ kind, id, expected }) => {
      const current = kinds.get(kind)?.get(id)?.version ?? 0;
      if (expected !== undefined && expected !== current) throw new VersionConflict(kind, id, current);
      return current + 1;
    });
    const changes = puts.map(({ kind, id, value }, index): ConfigChange => {
      const documents = kinds.get(kind) ?? new Map<string, { version: number; json: string }>();
      const version = versions[index] ?? 1;
      const json = JSON.stringify(value);
      kinds.set(kind, documents.set(id, { version, json }));
      return { kind, id, document: { id, version, value: JSON.parse(json) } };
    });
    await watchers.notify(changes);
    return versions;
  };

  return {
    async get<T>(kind: string, id: string) {
      const found = kinds.get(kind)?.get(id);
      return found && { id, version: found.version, value: JSON.parse(found.json) as T };
    },
    async list<T>(kind: string): Promise<readonly Versioned<T>[]> {
      return [...(kinds.get(kind) ?? [])].map(([id, { version, json }]) => ({
        id,
        version,
        value: JSON.parse(json) as T,
      }));
    },
    async put<T>(kind: string, id: string, value: T, expected?: number) {
      const [version] = await putAll([{ kind, id, value, ...(expected === undefined ? {} : { expected }) }]);
      return { id, version: version ?? 1, value };
    },
    async putAll(puts) {
      const versions = await putAll(puts);
      return puts.map(({ id, value }, index) => ({ id, version: versions[index] ?? 1, value }));
    },
    async delete(kind, id) {
      const existed = kinds.get(kind)?.delete(id) ?? false;
      if (existed) await watchers.notify([{ kind, id }]);
      return existed;
    },
    watch: (listener) => watchers.watch(listener),
  };
}
