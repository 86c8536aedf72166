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
  /** Tells the listener when `watched` changes. Returns an unsubscribe function. */
  onWatched(listener: (watched: boolean) => void): () => void;
}

export type LiveListener = (event: LiveEvent, stored: StoredMessage | undefined) => void;

export function liveEvents(): LiveEvents {
  const listeners = new Set<LiveListener>();
  const watching = new Set<(watched: boolean) => void>();
  const changed = (): void => {
    for (const listener of watching) listener(listeners.size > 0);
  };
  return {
    get watched() {
      return listeners.size > 0;
    },
    publish(event, stored) {
      for (const listener of listeners) listener(event, stored);
    },
    subscribe(listener) {
      listeners.add(listener);
      if (listeners.size === 1) changed();
      return () => {
        if (listeners.delete(listener) && listeners.size === 0) changed();
      };
    },
    onWatched(listener) {
      watching.add(listener);
      return () => watching.delete(listener);
    },
  };
}
