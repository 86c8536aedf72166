import type { ConfigStore, DocumentPut, Versioned } from "@sluice/event-log";
import { CollectorError } from "../../errors.js";

/** The first write of a request with an `Idempotency-Key`: the one that must not be repeated. */
export interface FirstPut {
  readonly kind: string;
  readonly id: string;
  /** It created the document. False: it changed an existing one. */
  readonly isNew: boolean;
}

/**
 * A view of the documents for a request with an `Idempotency-Key`: stores the document of the key in the transaction of the
 * request's first write, so that a collector that is killed before it answers does not carry the request out twice.
 * `docs/decisions/control-api.md` has the reason.
 */
export function storeWithFirstPut(
  config: ConfigStore,
  keyDocument: (first: FirstPut) => DocumentPut,
): ConfigStore {
  let isFirst = true;
  return {
    ...methodsOf(config),
    async put<T>(kind: string, id: string, value: T, expected?: number) {
      if (!isFirst) return config.put(kind, id, value, expected);
      isFirst = false;
      const put = { kind, id, value, ...(expected === undefined ? {} : { expected }) };
      const [stored] = await config.putAll([put, keyDocument({ kind, id, isNew: expected === 0 })]);
      return stored as Versioned<T>;
    },
  };
}

/**
 * A view of the documents for repeating a request whose first write is stored, but which was interrupted afterwards: that
 * write is skipped, and a document that it created is hidden until then.
 */
export function skipFirstPut(config: ConfigStore, first: FirstPut): ConfigStore {
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
        throw new CollectorError(
          "conflict",
          "this request was already carried out, and what it created has been deleted",
        );
      return stored;
    },
  };
}

/** A store's methods, bound, because a class instance cannot be spread. */
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
