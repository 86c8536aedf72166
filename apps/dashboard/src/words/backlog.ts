import type { DestinationStatusView } from "@sluice/protocol";
import { count, counted } from "./numbers.js";

/** What the messages that wait for a destination are; the number itself, `waiting`, is the API's. */
export function backlogNote({ state, behind, retries }: DestinationStatusView): string {
  // What comes to a disabled destination is skipped, not waited for; only what was queued before goes on.
  return state === "disabled"
    ? `${counted(retries, "message")} from before it was disabled`
    : `${count(behind)} not looked at yet, ${count(retries)} to be tried again`;
}
