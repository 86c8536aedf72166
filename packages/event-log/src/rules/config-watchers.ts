import type { ConfigChange, ConfigListener } from "../ports/documents.js";

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
