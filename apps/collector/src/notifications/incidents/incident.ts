import type { IncidentKind } from "@sluice/control-api";

/** Something is wrong now. Observed anew at each check. */
export interface Condition {
  /** The same each time the same thing is wrong, such as `destination_failing:dst_1`. */
  readonly key: string;
  readonly kind: IncidentKind;
  /** One line, with names as users wrote them. */
  readonly title: string;
  /** What happened, and what to do. */
  readonly detail: string;
  readonly destinationId?: string;
  readonly sinceMs: number;
}

/** Document of kind `incident`; its id is the condition's key. Times are wall-clock milliseconds. */
export interface Incident extends Omit<Condition, "key"> {
  readonly state: "open" | "resolved";
  readonly openedAtMs: number;
  readonly resolvedAtMs?: number;
  /** Whether a notification was made that it is open. Then one is made when it is resolved. */
  readonly isNotified: boolean;
  /** When the last such notification was made, also for an earlier opening. */
  readonly notifiedAtMs?: number;
}

/** A notification to send: an incident was opened or resolved. */
export interface Notice {
  readonly event: "opened" | "resolved";
  readonly incidentId: string;
  readonly incident: Incident;
}
