import type { MessageView } from "@sluice/protocol";

/** What can be waited for. */
export const WAIT_STATES = [
  "accepted",
  "rejected",
  "delivered",
  "pending",
  "failed",
  "filtered",
  "skipped",
  "suppressed",
] as const;

/** States of a destination that is not to get the message. */
const LEFT_OUT: readonly string[] = ["filtered", "skipped", "suppressed"];

/** Whether a message is in the state that is waited for. */
export function isInState(
  found: MessageView,
  state: (typeof WAIT_STATES)[number],
  {
    destinationId,
    destinations,
  }: { readonly destinationId: string | undefined; readonly destinations: "any" | "all" },
): boolean {
  if (found.state === "rejected" || state === "accepted" || state === "rejected")
    return found.state === state;
  const asked = found.outcomes.filter(
    (outcome) => destinationId === undefined || outcome.destinationId === destinationId,
  );
  return (
    asked.some((outcome) => outcome.state === state) &&
    (destinations === "any" ||
      asked.every((outcome) => outcome.state === state || LEFT_OUT.includes(outcome.state)))
  );
}
