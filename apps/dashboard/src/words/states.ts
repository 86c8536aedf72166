import type { DeliveryStateView } from "@sluice/protocol";

/** How a state looks: the colour family of `tokens.css`. */
export type Tone = "good" | "wait" | "bad" | "quiet" | "held" | "accent";

export type OutcomeState = DeliveryStateView | "rejected";

interface StateWords {
  readonly label: string;
  readonly tone: Tone;
  /** One sentence for whoever meets it for the first time. */
  readonly meaning: string;
}

export const STATES: Readonly<Record<OutcomeState, StateWords>> = {
  delivered: { label: "Delivered", tone: "good", meaning: "The destination answered 2xx." },
  pending: {
    label: "Pending",
    tone: "wait",
    meaning: "Not there yet: it waits for its first or its next attempt.",
  },
  failed: { label: "Failed", tone: "bad", meaning: "Given up: nothing is sent again unless you replay it." },
  filtered: {
    label: "Filtered",
    tone: "quiet",
    meaning: "Kept, but not sent: a filter or the message's own integrations said no.",
  },
  skipped: {
    label: "Skipped",
    tone: "quiet",
    meaning: "The destination was disabled when the message came.",
  },
  suppressed: {
    label: "Suppressed",
    tone: "held",
    meaning: "The user was deleted with suppression: later messages go nowhere.",
  },
  rejected: {
    label: "Rejected",
    tone: "bad",
    meaning: "The collector refused it: it is not valid, and is in no log.",
  },
};

/** The order in which states are listed: what needs somebody first. */
export const STATE_ORDER: readonly DeliveryStateView[] = [
  "failed",
  "pending",
  "delivered",
  "filtered",
  "skipped",
  "suppressed",
];
