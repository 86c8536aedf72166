/** Whether the collector answers. */
export type Connection =
  | { readonly kind: "answers" }
  /** The last call did not reach it, nor has any since. */
  | { readonly kind: "lost"; readonly sinceMs: number };

/** What every call of a session tells: so one place knows that the collector is away, or that the token is not valid any more. */
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
