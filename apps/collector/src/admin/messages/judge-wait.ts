import type { DeliveryStateView, MessageView, OutcomeSummary } from "@sluice/protocol";

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

export type WaitVerdict =
  | { readonly kind: "reached" }
  /** It may come. */
  | { readonly kind: "open" }
  /** It cannot come any more, unless somebody replays the message. */
  | { readonly kind: "impossible"; readonly why: string };

const REACHED: WaitVerdict = { kind: "reached" };
const OPEN: WaitVerdict = { kind: "open" };

/** Whether a message is in the state that is waited for, and if not, whether it can still come there. */
export function judgeWait(
  found: MessageView,
  state: (typeof WAIT_STATES)[number],
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
  const asked = found.outcomes.filter(
    (outcome) => destinationId === undefined || outcome.destinationId === destinationId,
  );
  if (asked.length === 0)
    return impossible(
      destinationId === undefined
        ? "no destination was connected to its source when it came"
        : `${destinationId} is not to get it`,
    );
  return judgeOutcomes(asked, state, destinations);
}

function judgeOutcomes(
  asked: readonly OutcomeSummary[],
  state: DeliveryStateView,
  destinations: "any" | "all",
): WaitVerdict {
  const isThere = (outcome: OutcomeSummary) => outcome.state === state;
  const isPending = (outcome: OutcomeSummary) => outcome.state === "pending";
  const inTheWay = asked.filter((outcome) => !isThere(outcome) && !LEFT_OUT.includes(outcome.state));
  if (asked.some(isThere) && (destinations === "any" || inTheWay.length === 0)) return REACHED;
  const mayCome = destinations === "any" ? asked.some(isPending) : inTheWay.every(isPending);
  // Where nothing is in the way and nothing is there, all were left out.
  if (mayCome && inTheWay.length > 0) return OPEN;
  const final = (inTheWay.length > 0 ? inTheWay : asked).filter((outcome) => !isPending(outcome));
  return impossible(
    final.map((outcome) => `${outcome.state} at ${outcome.destinationId} (${outcome.reason})`).join(", "),
  );
}

function impossible(why: string): WaitVerdict {
  return { kind: "impossible", why };
}
