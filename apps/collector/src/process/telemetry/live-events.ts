import type { FinalState, Offset, Rejection, StoredMessage } from "@sluice/event-log";

/** An event for live views. Nothing relies on its delivery. Live views read messages from the log. */
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
  /** Whether there are listeners. Without any, publishers need not build events. */
  readonly watched: boolean;
  /** `stored`: the message of an outcome, if the publisher has it. */
  publish(event: LiveEvent, stored?: StoredMessage): void;
  /** Returns an unsubscribe function. Listeners must not throw, and must not keep the message, which may be large. */
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
