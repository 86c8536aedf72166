import type { Retry, StoredMessage } from "@sluice/event-log";
import type { Match } from "../routing/match.js";
import type { Place } from "./cursor-tracker.js";

export type Deliverable = Extract<Match, { kind: "deliver" }>;

/** A message on its way to a destination. */
export interface Work {
  readonly stored: StoredMessage;
  readonly matched: Deliverable;
  /** The memory that the message takes, in bytes, estimated. */
  readonly heldBytes: number;
  /** Its place in the order of the log. Absent for a retry. */
  readonly place?: Place;
  readonly retry?: Retry;
}
