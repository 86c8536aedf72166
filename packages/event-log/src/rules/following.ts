import type { Clock } from "@sluice/resilience";
import type { ConfigChange, ConfigListener, ConfigStore, Versioned } from "../ports/documents.js";

/** The listeners of a config store. */
export interface ConfigWatchers {
  watch(listener: ConfigListener): () => void;
  /**
   * Calls every listener with these changes, in order and before it returns. Resolves when all listeners have applied them. Never
   * rejects: the change is stored either way, and a listener handles its own failures.
   */
  notify(changes: readonly ConfigChange[]): Promise<void>;
}

export function configWatchers(): ConfigWatchers {
  const listeners = new Set<ConfigListener>();
  return {
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async notify(changes) {
      const following = changes.flatMap((change) =>
        [...listeners].map(async (listener) => {
          await listener(change);
        }),
      );
      await Promise.allSettled(following);
    },
  };
}

/** How long a change of a document waits for one listener, in milliseconds. */
const FOLLOW_MS = 10_000;

/**
 * For listeners of documents: resolves when `following` settles, after ten seconds, or when `signal` aborts. So a stored change is
 * answered even if a listener hangs.
 */
export function followInTime(following: Promise<unknown>, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(FOLLOW_MS, end);
    signal.addEventListener("abort", end);
    following.then(end, end);
  });
}

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
