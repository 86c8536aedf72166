import type { DeliveryStateView, MessageView, OutcomeSummary, WaitStateView } from "@sluice/control-api";

/** States of destinations that do not get the message. */
const LEFT_OUT: readonly string[] = ["filtered", "skipped", "suppressed", "discarded"];

export type WaitVerdict =
  | { readonly kind: "reached" }
  /** The message can still reach the state. */
  | { readonly kind: "open" }
  /** The message can only reach the state if it is replayed. */
  | { readonly kind: "impossible"; readonly why: string };

const REACHED: WaitVerdict = { kind: "reached" };
const OPEN: WaitVerdict = { kind: "open" };

/** Whether a message has reached a state, and if not, whether it still can. */
export function judgeWait(
  found: MessageView,
  state: WaitStateView,
  {
    destinationId,
    destinations,
  }: { readonly destinationId: string | undefined; readonly destinations: "any" | "all" },
): WaitVerdict {
  if (found.state === "rejected")
    return state === "rejected"
      ? REACHED
      : impossible(`it was refused: ${found.issues.map(({ message }) => message).join("; ")}`);
  if (state === "accepted") return REACHED;
  if (state === "rejected") return impossible("it was accepted");
  const relevant = found.outcomes.filter(
    (outcome) => destinationId === undefined || outcome.destinationId === destinationId,
  );
  if (relevant.length === 0)
    return impossible(
      destinationId === undefined
        ? "no destination was connected to its source when it arrived"
        : `${destinationId} does not get it`,
    );
  return judgeOutcomes(relevant, state, destinations);
}

function judgeOutcomes(
  relevant: readonly OutcomeSummary[],
  state: DeliveryStateView,
  destinations: "any" | "all",
): WaitVerdict {
  const hasState = (outcome: OutcomeSummary) => outcome.state === state;
  const isPending = (outcome: OutcomeSummary) => outcome.state === "pending";
  const missing = relevant.filter((outcome) => !hasState(outcome) && !LEFT_OUT.includes(outcome.state));
  if (relevant.some(hasState) && (destinations === "any" || missing.length === 0)) return REACHED;
  const canReach = destinations === "any" ? relevant.some(isPending) : missing.every(isPending);
  // If nothing is missing and no destination has the state, every destination was left out.
  if (canReach && missing.length > 0) return OPEN;
  const final = (missing.length > 0 ? missing : relevant).filter((outcome) => !isPending(outcome));
  return impossible(
    final.map((outcome) => `${outcome.state} at ${outcome.destinationId} (${outcome.reason})`).join(", "),
  );
}

function impossible(why: string): WaitVerdict {
  return { kind: "impossible", why };
}
