import type { ConfigStore, Versioned } from "../ports/documents.js";

/** All documents of a kind as they are now: a change is in it before the call that made the change resolves. */
export interface DocumentMirror<T> {
  get(id: string): T | undefined;
  /** The oldest first. */
  entries(): Iterable<Versioned<T>>;
  /** Ends the watching. */
  close(): void;
}

/**
 * Reads the documents of a kind and keeps up with them. `changed` is called for each document that was read, and for each change;
 * the change is answered once the promise that it returns has settled.
 */
export async function mirrorDocuments<T>(
  config: ConfigStore,
  kind: string,
  changed?: (id: string, document: Versioned<T> | undefined) => Promise<void> | void,
): Promise<DocumentMirror<T>> {
  const documents = new Map<string, Versioned<T>>();
  /** Changed while the others were being read. */
  const newer = new Set<string>();
  const take = (id: string, document: Versioned<T> | undefined): Promise<void> | void => {
    if (document === undefined) documents.delete(id);
    else documents.set(id, document);
    return changed?.(id, document);
  };
  const stopWatching = config.watch((change) => {
    if (change.kind !== kind) return;
    newer.add(change.id);
    return take(change.id, change.document as Versioned<T> | undefined);
  });
  try {
    const found = (await config.list<T>(kind)).filter(({ id }) => !newer.has(id));
    await Promise.all(found.map((document) => take(document.id, document)));
  } catch (error) {
    stopWatching();
    throw error;
  }
  return {
    get: (id) => documents.get(id)?.value,
    entries: () => documents.values(),
    close: stopWatching,
  };
}
