import {
  type CollectorHealthView,
  type DeliveryStateView,
  type DestinationStatusView,
  HEALTH_WORDS,
  type HealthLevel,
} from "@sluice/control-api";
import { count, counted } from "./numbers.js";

/** How the backlog of a destination, `waiting`, is made up. */
export function backlogNote({ state, waiting, retries }: DestinationStatusView): string {
  // It skips new messages, so that what waits came earlier.
  const what = `${count(waiting - retries)} unread, ${counted(retries, "retry", "retries")}`;
  return state === "disabled" && waiting > 0 ? `${what}, from before it was disabled` : what;
}

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

export interface OverallState {
  readonly label: string;
  readonly tone: Tone;
}

/** The state of a message over all its destinations. States that need attention come first. */
export function overallStateOf(outcomes: readonly { readonly state: DeliveryStateView }[]): OverallState {
  if (outcomes.length === 0) return { label: "Stored", tone: "quiet" };
  for (const state of STATE_ORDER) {
    const number = outcomes.filter((outcome) => outcome.state === state).length;
    if (number === 0) continue;
    const words = STATES[state];
    const share = outcomes.length > 1 && number < outcomes.length ? ` ${number}/${outcomes.length}` : "";
    return { label: `${words.label}${share}`, tone: words.tone };
  }
  return { label: counted(outcomes.length, "outcome"), tone: "quiet" };
}

const TONES: Readonly<Record<HealthLevel, Tone>> = {
  ok: "good",
  quiet: "quiet",
  warning: "wait",
  problem: "bad",
};

/** The word and the colour of a health. */
export function healthWords(health: CollectorHealthView["health"]): {
  readonly label: string;
  readonly tone: Tone;
} {
  const { label, level } = HEALTH_WORDS[health];
  return { label, tone: TONES[level] };
}

/** Whether messages do not arrive, or not as they should. */
export function needsAttention(health: CollectorHealthView["health"]): boolean {
  const { level } = HEALTH_WORDS[health];
  return level === "warning" || level === "problem";
}
