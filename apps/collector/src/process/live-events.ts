import type { FinalState, Offset, Rejection, StoredMessage } from "@sluice/event-log";

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
  /** `stored`: the message that an outcome is of, where it is at hand. */
  publish(event: LiveEvent, stored?: StoredMessage): void;
  /** Returns the function that ends it. A listener must not throw, nor hold the message: it may be large. */
  subscribe(listener: LiveListener): () => void;
}

export type LiveListener = (event: LiveEvent, stored: StoredMessage | undefined) => void;

export function liveEvents(): LiveEvents {
  const listeners = new Set<LiveListener>();
  return {
    get watched() {
      return listeners.size > 0;
    },
    publish(event, stored) {
      for (const listener of listeners) listener(event, stored);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
