import type {
  AttemptView,
  MessageView,
  OutcomeView,
  RejectedMessageView,
  StoredMessageView,
} from "@sluice/control-api";
import { parseTime } from "@sluice/protocol";

/** One entry of a message's timeline. */
export type Moment =
  | { readonly kind: "sent"; readonly at: string }
  | { readonly kind: "received"; readonly at: string; readonly sourceId: string }
  | { readonly kind: "rejected"; readonly at: string; readonly issues: RejectedMessageView["issues"] }
  | { readonly kind: "stored"; readonly at: string; readonly destinations: number }
  | {
      readonly kind: "attempt";
      readonly at: string;
      readonly destinationId: string;
      readonly attempt: AttemptView;
    }
  | { readonly kind: "outcome"; readonly at?: string; readonly outcome: OutcomeView };

export function timelineOf(view: MessageView): readonly Moment[] {
  if (view.state === "rejected") {
    return [
      { kind: "received", at: view.receivedAt, sourceId: view.sourceId },
      { kind: "rejected", at: view.receivedAt, issues: view.issues },
    ];
  }
  const ingestion: Moment[] = [
    ...sentMoment(view),
    { kind: "received", at: view.receivedAt, sourceId: view.sourceId },
    { kind: "stored", at: view.receivedAt, destinations: view.outcomes.length },
  ];
  const delivery = view.outcomes.flatMap((outcome): Moment[] => [
    ...outcome.attempts.map(
      (attempt): Moment => ({
        kind: "attempt",
        at: attempt.at,
        destinationId: outcome.destinationId,
        attempt,
      }),
    ),
    { kind: "outcome", outcome, ...(endOf(outcome) === undefined ? {} : { at: endOf(outcome) as string }) },
  ]);
  // The sort is stable: in the same millisecond an attempt stays before its outcome.
  return [...ingestion, ...delivery.toSorted((a, b) => timeOf(a) - timeOf(b))];
}

/** The time of the event by the client's clock. */
function sentMoment(view: StoredMessageView): Moment[] {
  const { originalTimestamp, timestamp } = view.message;
  const at = typeof timestamp === "string" ? timestamp : originalTimestamp;
  return typeof at === "string" && parseTime(at) !== undefined ? [{ kind: "sent", at }] : [];
}

/** A pending outcome ends with its next attempt, if one is scheduled. */
function endOf(outcome: OutcomeView): string | undefined {
  if (outcome.state === "pending") return outcome.nextAttemptAt;
  return outcome.at ?? outcome.attempts.at(-1)?.at;
}

function timeOf(moment: Moment): number {
  return moment.at === undefined ? Number.POSITIVE_INFINITY : Date.parse(moment.at);
}
