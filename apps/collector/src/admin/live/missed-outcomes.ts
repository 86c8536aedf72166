import type { Delivery, FinalState, Store, StoredMessage } from "@sluice/event-log";
import type { LiveEvent } from "../../process/live-events.js";

export type OutcomeEvent = Extract<LiveEvent, { readonly kind: "outcome" }>;

export interface MissedOutcomes {
  /** Oldest first; of each state the newest, where there are more than are made up for. */
  readonly events: readonly OutcomeEvent[];
  /** How many there are beside them, as far as the outcome alone tells whether they are asked for. */
  readonly more: number;
  /** They were not counted to their end: there are at least `more`. */
  readonly isMinimum: boolean;
}

/** Outcomes of each state that a resumed stream makes up for. */
const MOST_MADE_UP = 500;
/** Of each state so many beyond them are counted. */
const MOST_COUNTED = 5_000;

const STATES: readonly (FinalState | "pending")[] = [
  "delivered",
  "failed",
  "pending",
  "filtered",
  "skipped",
  "suppressed",
];

/** Which outcomes a reader asks for. */
export interface OutcomesAsked {
  readonly byOutcome: (outcome: { readonly destinationId: string; readonly state: string }) => boolean;
  readonly byMessage: (stored: StoredMessage) => boolean;
}

/** What was decided at the destinations since a reader was last here. */
export async function missedOutcomes(
  { consumers, log }: Pick<Store, "log" | "consumers">,
  fromMs: number,
  { byOutcome, byMessage }: OutcomesAsked,
): Promise<MissedOutcomes> {
  const isAsked = ({ consumerId, state }: Delivery) => byOutcome({ destinationId: consumerId, state });
  const ofStates = await Promise.all(
    STATES.map(async (state) => {
      const newest = await consumers.list({ state, fromMs }, { limit: MOST_MADE_UP });
      const { nextCursor: cursor } = newest;
      const older =
        cursor === undefined
          ? { items: [] }
          : await consumers.list({ state, fromMs }, { limit: MOST_COUNTED, cursor });
      return {
        deliveries: newest.items.filter(isAsked),
        more: older.items.filter(isAsked).length,
        isMinimum: "nextCursor" in older && older.nextCursor !== undefined,
      };
    }),
  );
  const deliveries = ofStates.flatMap((of) => of.deliveries).sort((a, b) => a.atMs - b.atMs);
  const events: OutcomeEvent[] = [];
  // One after the other: each is read with its whole request, which may be large.
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
