import type { Retry, StoredMessage } from "@sluice/event-log";
import type { Place } from "./reading/cursor-tracker.js";
import type { Match } from "./routing/match.js";

export type Deliverable = Extract<Match, { kind: "deliver" }>;

/** A message on its way to a destination. */
export interface Work {
  readonly stored: StoredMessage;
  readonly matched: Deliverable;
  /** What the message takes in memory, about. */
  readonly heldBytes: number;
  /** Its place in the log's order; absent for what comes from the retry queue. */
  readonly place?: Place;
  readonly retry?: Retry;
}
