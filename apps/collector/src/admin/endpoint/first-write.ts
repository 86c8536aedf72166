import type { ConfigStore, DocumentPut, Versioned } from "@sluice/event-log";
import { CollectorError } from "../../errors.js";

/** What a request with an `Idempotency-Key` put first: the one write that must not be repeated. */
export interface FirstPut {
  readonly kind: string;
  readonly id: string;
  /** It made the document; else it changed one. */
  readonly isNew: boolean;
}

/** The documents as a request sees them whose first write is stored together with what remembers the request. */
export function putTogether(config: ConfigStore, remembering: (first: FirstPut) => DocumentPut): ConfigStore {
  let isFirst = true;
  return {
    ...methodsOf(config),
    async put<T>(kind: string, id: string, value: T, expected?: number) {
      if (!isFirst) return config.put(kind, id, value, expected);
      isFirst = false;
      const put = { kind, id, value, ...(expected === undefined ? {} : { expected }) };
      const [stored] = await config.putAll([put, remembering({ kind, id, isNew: expected === 0 })]);
      return stored as Versioned<T>;
    },
  };
}

/**
 * The same for a repetition of a request whose first write is known to be stored, but not how it went on: that write is not made
 * again, and what it made is out of sight until then.
 */
export function putBefore(config: ConfigStore, first: FirstPut): ConfigStore {
  let isFirst = true;
  const isHidden = (kind: string, id: string): boolean =>
    isFirst && first.isNew && kind === first.kind && id === first.id;
  return {
    ...methodsOf(config),
    async get<T>(kind: string, id: string) {
      return isHidden(kind, id) ? undefined : config.get<T>(kind, id);
    },
    async list<T>(kind: string) {
      return (await config.list<T>(kind)).filter(({ id }) => !isHidden(kind, id));
    },
    async put<T>(kind: string, id: string, value: T, expected?: number) {
      if (!isFirst) return config.put(kind, id, value, expected);
      const stored = await config.get<T>(first.kind, first.id);
      isFirst = false;
      if (stored === undefined)
        throw new CollectorError("conflict", "it was done already, and what it made was deleted since");
      return stored;
    },
  };
}

/** A store's methods, bound: the embedded and the memory one are not spread alike. */
function methodsOf(config: ConfigStore): ConfigStore {
  return {
    get: (kind, id) => config.get(kind, id),
    list: (kind) => config.list(kind),
    put: (kind, id, value, expected) => config.put(kind, id, value, expected),
    putAll: (puts) => config.putAll(puts),
    delete: (kind, id) => config.delete(kind, id),
    watch: (listener) => config.watch(listener),
  };
}
