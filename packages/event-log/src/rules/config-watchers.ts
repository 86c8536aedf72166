import type { ConfigChange, ConfigListener } from "../ports/documents.js";

/** The listeners of a config store. */
export interface ConfigWatchers {
  watch(listener: ConfigListener): () => void;
  /**
   * Tells every listener of these changes, in order and before this call returns. Resolves when all of them follow the changes.
   * Never rejects: a change that was stored stays stored, and a listener deals with its own failures.
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
