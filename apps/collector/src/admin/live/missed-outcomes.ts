import type { Delivery, FinalState, Store, StoredMessage } from "@sluice/event-log";
import type { LiveEvent } from "../../process/telemetry/live-events.js";

export type OutcomeEvent = Extract<LiveEvent, { readonly kind: "outcome" }>;

export interface MissedOutcomes {
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
export interface OutcomeFilter {
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
