import type { DeliveryStateView, LiveEventView, RejectedMessageView } from "@sluice/control-api";
import { stateWord } from "../../terminal/plural.js";
import type { Style } from "../../terminal/style.js";
import { clip, terminalJson, terminalText } from "../../terminal/terminal-text.js";

type LiveOutcome = Extract<LiveEventView, { readonly kind: "outcome" }>;

interface StoredMessage {
  readonly violations?: readonly { readonly message: string }[];
  readonly receivedAt: string;
  readonly messageId: string;
  readonly message: { readonly [field: string]: unknown };
}

/** A stored message in one line: time, type, event or name, user, data. */
export function messageLine(
  { receivedAt, messageId, message, violations = [] }: StoredMessage,
  style: Style,
  columns: number,
): string {
  const time = timeOfDay(receivedAt);
  const type = terminalText(String(message.type)).padEnd(8);
  const name = message.event ?? message.name ?? message.groupId ?? message.previousId ?? "";
  const nameText = clip(terminalText(String(name)), 32).padEnd(16);
  const user = clip(terminalText(String(message.userId ?? message.anonymousId ?? "")), 24);
  const data = message.properties ?? message.traits;
  const room = Math.max(20, columns - `${time}  ${type} ${nameText} ${user}`.length - 2);
  const dataText = data === undefined ? "" : `  ${style.dim(clip(terminalJson(data), room))}`;
  return `${style.dim(time)}  ${style.bold(type)} ${nameText} ${style.cyan(user)}${dataText}  ${style.dim(terminalText(messageId))}${violationText(violations, style)}\n`;
}

function violationText(violations: NonNullable<StoredMessage["violations"]>, style: Style): string {
  const [first] = violations;
  if (first === undefined) return "";
  const more = violations.length === 1 ? "" : ` and ${violations.length - 1} more`;
  return `  ${style.yellow(`violates the plan: ${terminalText(first.message)}${more}`)}`;
}

export function outcomeLine(outcome: LiveOutcome, destination: string, style: Style): string {
  const { nextAttemptAt } = outcome;
  const retry = nextAttemptAt === undefined ? "" : `, next attempt at ${timeOfDay(nextAttemptAt)}`;
  return `${style.dim(timeOfDay(outcome.at))}    → ${stateWord(outcome.state, style)} ${terminalText(destination)}: ${terminalText(outcome.reason)}${retry}  ${style.dim(terminalText(outcome.messageId))}\n`;
}

export function rejectedLine(
  rejected: Pick<RejectedMessageView, "receivedAt" | "issues" | "messageId">,
  style: Style,
): string {
  const reasons = rejected.issues.map(({ code, message }) => `${code}: ${message}`).join("; ");
  return `${style.dim(timeOfDay(rejected.receivedAt))}  ${style.red("refused")}  ${terminalText(reasons)}  ${style.dim(terminalText(rejected.messageId ?? ""))}\n`;
}

const OTHER_STATES = ["failed", "pending", "filtered", "skipped", "suppressed", "discarded"] as const;

/** A summary of a message's outcomes: `2/12 delivered, 4 failed, 6 pending`. */
export function outcomeCounts(
  outcomes: readonly { readonly state: DeliveryStateView }[],
  style: Style,
): string {
  if (outcomes.length === 0) return style.dim("no destination");
  const count = (wanted: DeliveryStateView) => outcomes.filter(({ state }) => state === wanted).length;
  const delivered = count("delivered");
  const head = `${delivered}/${outcomes.length} delivered`;
  const others = OTHER_STATES.flatMap((state) => {
    const found = count(state);
    return found === 0 ? [] : [stateWord(state, style, `${found} ${state}`)];
  });
  return [delivered === 0 ? style.dim(head) : style.green(head), ...others].join(", ");
}

/** `09:30:08.276` from an ISO time, in UTC. */
function timeOfDay(iso: string): string {
  return iso.slice(11, 23);
}
