import type { DeliveryStateView } from "@sluice/control-api";
import { counted } from "./numbers.js";
import { STATE_ORDER, STATES, type Tone } from "./states.js";

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
