import type { FinalState, Offset, Rejection } from "./store/store.js";

/** What the stages tell whoever watches: nothing depends on it being heard. Messages themselves are read from the log. */
export type LiveEvent =
  | {
      readonly kind: "outcome";
      readonly destinationId: string;
      readonly offset: Offset;
      readonly messageId: string;
      readonly state: FinalState | "pending";
      readonly reason: string;
      readonly atMs: number;
      readonly nextAttemptAtMs?: number;
    }
  | { readonly kind: "rejected"; readonly rejection: Rejection };

export interface LiveEvents {
  /** Whether anybody listens: a publisher may spare itself the making of an event. */
  readonly watched: boolean;
  publish(event: LiveEvent): void;
  /** Returns the function that ends it. A listener must not throw. */
  subscribe(listener: (event: LiveEvent) => void): () => void;
}

export function liveEvents(): LiveEvents {
  const listeners = new Set<(event: LiveEvent) => void>();
  return {
    get watched() {
      return listeners.size > 0;
    },
    publish(event) {
      for (const listener of listeners) listener(event);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
