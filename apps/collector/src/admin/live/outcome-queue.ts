import type { Offset } from "@sluice/event-log";
import type { LiveEvent } from "../../process/live-events.js";

type Outcome = Extract<LiveEvent, { readonly kind: "outcome" }>;
type Rejected = Extract<LiveEvent, { readonly kind: "rejected" }>;

/** Events that wait for one reader of the stream: when it is full the oldest go, and are counted. */
export interface OutcomeQueue {
  add(event: LiveEvent): void;
  /** Puts those before what waits that came before it; one that waits already is not put again. */
  addMissed(events: readonly Outcome[]): void;
  /** At most so many that may be sent when every message up to `offset` was: an outcome never comes before its message. */
  takeUpTo(offset: Offset, most: number): (Outcome | Rejected)[];
  /** Whether something waits that may be sent then. */
  hasUpTo(offset: Offset): boolean;
  /** How many were dropped since this was last asked. */
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
      // Half at once: shifting one at a time would cost a move of the whole array for each event.
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
