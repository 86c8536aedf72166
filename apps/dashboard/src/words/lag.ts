import type { DestinationStatusView } from "@sluice/protocol";
import { count, counted } from "./numbers.js";

/** What waits for a destination, defined here once for all pages. */
export interface Lag {
  /** Messages that will be sent: those it has not come to, and those that wait for another attempt. */
  readonly waiting: number;
  /** What the number is made of. */
  readonly note: string;
}

export function lagOf({ state, behind, retries }: DestinationStatusView): Lag {
  // What comes to a disabled destination is skipped, not waited for; only what was queued before goes on.
  if (state === "disabled") {
    return { waiting: retries, note: `${counted(retries, "message")} from before it was disabled` };
  }
  return {
    waiting: behind + retries,
    note: `${count(behind)} not looked at yet, ${count(retries)} to be tried again`,
  };
}
