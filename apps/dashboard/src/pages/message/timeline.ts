import type {
  AttemptView,
  MessageView,
  OutcomeView,
  RejectedMessageView,
  StoredMessageView,
} from "@sluice/control-api";
import { parseTime } from "@sluice/protocol";

/** One entry of a message's timeline, up to the disk. */
export type Moment =
  | { readonly kind: "sent"; readonly at: string }
  | { readonly kind: "received"; readonly at: string; readonly sourceId: string }
  | { readonly kind: "rejected"; readonly at: string; readonly issues: RejectedMessageView["issues"] }
  | { readonly kind: "stored"; readonly at: string; readonly destinations: number };

/** What happened at one destination: its attempts, then the outcome. */
export interface DestinationTimeline {
  readonly destinationId: string;
  readonly attempts: readonly AttemptView[];
  readonly outcome: OutcomeView;
  /** When it ended. Absent: it has not ended. */
  readonly endedAt?: string;
}

export interface MessageTimeline {
  readonly ingestion: readonly Moment[];
  /** Destinations that need attention first, then as they were created. */
  readonly destinations: readonly DestinationTimeline[];
}

export function timelineOf(view: MessageView): MessageTimeline {
  if (view.state === "rejected") {
    return {
      ingestion: [
        { kind: "received", at: view.receivedAt, sourceId: view.sourceId },
        { kind: "rejected", at: view.receivedAt, issues: view.issues },
      ],
      destinations: [],
    };
  }
  return {
    ingestion: [
      ...sentMoment(view),
      { kind: "received", at: view.receivedAt, sourceId: view.sourceId },
      { kind: "stored", at: view.receivedAt, destinations: view.outcomes.length },
    ],
    destinations: view.outcomes.map(destinationTimeline).toSorted((a, b) => rank(a) - rank(b)),
  };
}

const ORDER: readonly OutcomeView["state"][] = ["failed", "pending"];

function rank({ outcome }: DestinationTimeline): number {
  const place = ORDER.indexOf(outcome.state);
  return place < 0 ? ORDER.length : place;
}

function destinationTimeline(outcome: OutcomeView): DestinationTimeline {
  const { destinationId, state, at } = outcome;
  const attempts = outcome.attempts.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const endedAt = state === "pending" ? undefined : (at ?? attempts.at(-1)?.at);
  return { destinationId, attempts, outcome, ...(endedAt === undefined ? {} : { endedAt }) };
}

/** The time of the event by the client's clock. */
function sentMoment(view: StoredMessageView): Moment[] {
  const { originalTimestamp, timestamp } = view.message;
  const at = typeof timestamp === "string" ? timestamp : originalTimestamp;
  return typeof at === "string" && parseTime(at) !== undefined ? [{ kind: "sent", at }] : [];
}
