import type { Offset } from "@sluice/event-log";
import type { LiveEvent } from "../../process/telemetry/live-events.js";

type Outcome = Extract<LiveEvent, { readonly kind: "outcome" }>;
type Rejected = Extract<LiveEvent, { readonly kind: "rejected" }>;

/** Events that wait for one reader of the stream. If it is full, the oldest are dropped and counted. */
export interface OutcomeQueue {
  add(event: LiveEvent): void;
  /** Puts missed outcomes before the waiting events, without those that already wait. */
  addMissed(events: readonly Outcome[]): void;
  /** Takes at most `most` events that may be sent once every message up to `offset` was: an outcome never comes before its message. */
  takeUpTo(offset: Offset, most: number): (Outcome | Rejected)[];
  /** Whether `takeUpTo` would return anything. */
  hasUpTo(offset: Offset): boolean;
  /** The number of events dropped since the last call. */
  takeDropped(): number;
}

export function outcomeQueue(mostEvents: number): OutcomeQueue {
  let waiting: (Outcome | Rejected)[] = [];
  let dropped = 0;
  const isDueAt = (offset: Offset) => (event: Outcome | Rejected) =>
    event.kind === "rejected" || event.offset <= offset;
  return {
    add(event) {
      waiting.push(event);
      if (waiting.length <= mostEvents) return;
      // Half of them at once: shifting one at a time would move the whole array for each event.
      dropped += waiting.splice(0, Math.ceil(mostEvents / 2)).length;
    },
    addMissed(events) {
      const known = new Set(waiting.filter((event) => event.kind === "outcome").map(identityOf));
      waiting = [...events.filter((event) => !known.has(identityOf(event))), ...waiting];
    },
    takeUpTo(offset, most) {
      const isDue = isDueAt(offset);
      const due: (Outcome | Rejected)[] = [];
      const rest: (Outcome | Rejected)[] = [];
      for (const event of waiting) (due.length < most && isDue(event) ? due : rest).push(event);
      if (due.length > 0) waiting = rest;
      return due;
    },
    hasUpTo: (offset) => waiting.some(isDueAt(offset)),
    takeDropped() {
      const count = dropped;
      dropped = 0;
      return count;
    },
  };
}

function identityOf({ destinationId, offset, state, atMs }: Outcome): string {
  return `${destinationId} ${offset} ${state} ${atMs}`;
}
