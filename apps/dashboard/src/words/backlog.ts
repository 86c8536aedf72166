import type { DestinationStatusView } from "@sluice/control-api";
import { count, counted } from "./numbers.js";

/** The backlog of a destination. One that backs off has read nothing of it, so messages of other sources count too. */
export function backlogText({ health, waiting }: DestinationStatusView): string {
  return `${health === "backing_off" && waiting > 0 ? "≤ " : ""}${count(waiting)}`;
}

/** How the backlog of a destination, `waiting`, is made up. */
export function backlogNote({ state, behind, retries }: DestinationStatusView): string {
  // A disabled destination skips new messages. Only its retries stay in the backlog.
  return state === "disabled"
    ? `${counted(retries, "message")} from before it was disabled`
    : `${count(behind)} unread, ${counted(retries, "retry", "retries")}`;
}
