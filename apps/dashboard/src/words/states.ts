import type { DeliveryStateView } from "@sluice/control-api";

/** The colour family of a state, from `tokens.css`. */
export type Tone = "good" | "wait" | "bad" | "quiet" | "held" | "accent";

export type OutcomeState = DeliveryStateView | "rejected";

interface StateWords {
  readonly label: string;
  readonly tone: Tone;
  /** One sentence for the tooltip. */
  readonly meaning: string;
}

export const STATES: Readonly<Record<OutcomeState, StateWords>> = {
  delivered: { label: "Delivered", tone: "good", meaning: "The destination accepted the message." },
  pending: {
    label: "Pending",
    tone: "wait",
    meaning: "Waiting for the first or the next attempt.",
  },
  failed: {
    label: "Failed",
    tone: "bad",
    meaning: "All attempts failed. Retry it to send the message again.",
  },
  filtered: {
    label: "Filtered",
    tone: "quiet",
    meaning: "Not sent because of a filter or the message's own integrations.",
  },
  skipped: {
    label: "Skipped",
    tone: "quiet",
    meaning: "Not sent because the destination was disabled.",
  },
  suppressed: {
    label: "Suppressed",
    tone: "held",
    meaning: "Not sent because the user is suppressed.",
  },
  discarded: {
    label: "Discarded",
    tone: "quiet",
    meaning: "Not sent any more because somebody discarded it. Replay the message to send it.",
  },
  rejected: {
    label: "Rejected",
    tone: "bad",
    meaning: "The message is not valid. It was not stored.",
  },
};

/** The order of states in lists: those that need attention first. */
export const STATE_ORDER: readonly DeliveryStateView[] = [
  "failed",
  "pending",
  "delivered",
  "filtered",
  "skipped",
  "suppressed",
  "discarded",
];
