import type { Delivery, FinalState, Offset, Store, StoredMessage } from "@sluice/event-log";
import type { LiveEvent } from "../../process/telemetry/live-events.js";

type Outcome = Extract<LiveEvent, { readonly kind: "outcome" }>;
type Rejected = Extract<LiveEvent, { readonly kind: "rejected" }>;

/** Events that wait for one reader of the stream. If it is full, the oldest are dropped and counted. */
interface OutcomeQueue {
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

export type OutcomeEvent = Extract<LiveEvent, { readonly kind: "outcome" }>;

interface MissedOutcomes {
  /** Oldest first; at most the newest `MAX_PER_STATE` of each state. */
  readonly events: readonly OutcomeEvent[];
  /** How many more there are, filtered by the outcome alone and not by its message. */
  readonly more: number;
  /** Counting stopped early: there are at least `more`. */
  readonly isMinimum: boolean;
}

/** Outcomes of each state that a resumed stream receives. */
const MAX_PER_STATE = 500;
/** Further outcomes of each state that are counted. */
const MAX_COUNTED = 5_000;

const STATES: readonly (FinalState | "pending")[] = [
  "delivered",
  "failed",
  "pending",
  "filtered",
  "skipped",
  "suppressed",
  "discarded",
];

/** A reader's filter. */
interface OutcomeFilter {
  readonly byOutcome: (outcome: { readonly destinationId: string; readonly state: string }) => boolean;
  readonly byMessage: (stored: StoredMessage) => boolean;
}

/** The outcomes since a reader's last stream, so that a reconnect leaves no gap. `docs/decisions/control-api.md` has the reason. */
export async function missedOutcomes(
  { consumers, log }: Pick<Store, "log" | "consumers">,
  fromMs: number,
  { byOutcome, byMessage }: OutcomeFilter,
): Promise<MissedOutcomes> {
  const matches = ({ consumerId, state }: Delivery) => byOutcome({ destinationId: consumerId, state });
  const ofStates = await Promise.all(
    STATES.map(async (state) => {
      const newest = await consumers.list({ state, fromMs }, { limit: MAX_PER_STATE });
      const { nextCursor: cursor } = newest;
      const older =
        cursor === undefined
          ? { items: [] }
          : await consumers.list({ state, fromMs }, { limit: MAX_COUNTED, cursor });
      return {
        deliveries: newest.items.filter(matches),
        more: older.items.filter(matches).length,
        isMinimum: "nextCursor" in older && older.nextCursor !== undefined,
      };
    }),
  );
  const deliveries = ofStates.flatMap((of) => of.deliveries).sort((a, b) => a.atMs - b.atMs);
  const events: OutcomeEvent[] = [];
  // One at a time, because each message is read with its whole request, which may be large.
  for (const delivery of deliveries) {
    const stored = await log.get(delivery.offset);
    if (stored !== undefined && byMessage(stored)) events.push(outcomeOf(delivery, stored.messageId));
  }
  return {
    events,
    more: ofStates.reduce((sum, of) => sum + of.more, 0),
    isMinimum: ofStates.some((of) => of.isMinimum),
  };
}

function outcomeOf(delivery: Delivery, messageId: string): OutcomeEvent {
  const { consumerId, offset, state, reason, atMs, nextAttemptAtMs } = delivery;
  return {
    kind: "outcome",
    destinationId: consumerId,
    offset,
    messageId,
    state,
    reason,
    atMs,
    ...(nextAttemptAtMs === undefined ? {} : { nextAttemptAtMs }),
  };
}
