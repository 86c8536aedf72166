import type { ConfigStore, Versioned } from "../ports/documents.js";

/** All documents of a kind, kept current: a change is visible before the call that made it resolves. */
export interface DocumentMirror<T> {
  get(id: string): T | undefined;
  /** Oldest first. */
  entries(): Iterable<Versioned<T>>;
  /** Stops following changes. */
  close(): void;
}

/**
 * Reads the documents of a kind and follows their changes. `changed` is called for each document that was read and for each change; the
 * call that made the change waits for its promise.
 */
export async function mirrorDocuments<T>(
  config: Pick<ConfigStore, "list" | "watch">,
  kind: string,
  changed?: (id: string, document: Versioned<T> | undefined) => Promise<void> | void,
): Promise<DocumentMirror<T>> {
  const documents = new Map<string, Versioned<T>>();
  /** Ids that changed while the list was being read. */
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
