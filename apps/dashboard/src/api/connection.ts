/** Whether the collector can be reached. */
export type Connection =
  | { readonly kind: "answers" }
  /** Calls have failed to reach it since then. */
  | { readonly kind: "lost"; readonly sinceMs: number };

/** The connection state, reported by every call of a session. */
export interface ConnectionWatch {
  get(): Connection;
  watch(listener: () => void): () => void;
  answered(): void;
  notReached(nowMs: number): void;
}

export function connectionWatch(): ConnectionWatch {
  let connection: Connection = { kind: "answers" };
  const listeners = new Set<() => void>();
  const set = (next: Connection) => {
    if (next.kind === connection.kind) return;
    connection = next;
    for (const listener of listeners) listener();
  };
  return {
    get: () => connection,
    watch(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    answered: () => set({ kind: "answers" }),
    notReached: (nowMs) => set({ kind: "lost", sinceMs: nowMs }),
  };
}
