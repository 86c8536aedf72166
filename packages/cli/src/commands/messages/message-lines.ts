import type { DeliveryStateView, LiveEventView, RejectedMessageView } from "@sluice/protocol";
import type { Style } from "../../terminal/style.js";
import { clip, terminalJson, terminalText } from "../../terminal/terminal-text.js";

type LiveOutcome = Extract<LiveEventView, { readonly kind: "outcome" }>;

/** A stored message in one line: when, kind, what, who, with what. */
export function messageLine(
  {
    receivedAt,
    messageId,
    message,
  }: {
    readonly receivedAt: string;
    readonly messageId: string;
    readonly message: { readonly [field: string]: unknown };
  },
  style: Style,
  columns: number,
): string {
  const what = message.event ?? message.name ?? message.groupId ?? message.previousId ?? "";
  const who = message.userId ?? message.anonymousId ?? "";
  const head = `${timeOfDay(receivedAt)}  ${String(message.type).padEnd(8)} ${clip(terminalText(String(what)), 32).padEnd(16)} ${clip(terminalText(String(who)), 24)}`;
  const data = message.properties ?? message.traits;
  const left = Math.max(20, columns - head.length - 2);
  const tail = data === undefined ? "" : `  ${style.dim(clip(terminalJson(data), left))}`;
  return `${style.dim(timeOfDay(receivedAt))}  ${style.bold(terminalText(String(message.type)).padEnd(8))} ${clip(terminalText(String(what)), 32).padEnd(16)} ${style.cyan(clip(terminalText(String(who)), 24))}${tail}  ${style.dim(terminalText(messageId))}\n`;
}

export function outcomeLine(outcome: LiveOutcome, destination: string, style: Style): string {
  const next = outcome.nextAttemptAt === undefined ? "" : `, again at ${timeOfDay(outcome.nextAttemptAt)}`;
  return `${style.dim(timeOfDay(outcome.at))}    → ${stateWord(outcome.state, style)} ${terminalText(destination)}: ${terminalText(outcome.reason)}${next}  ${style.dim(terminalText(outcome.messageId))}\n`;
}

export function rejectedLine(
  rejected: Pick<RejectedMessageView, "receivedAt" | "issues" | "messageId">,
  style: Style,
): string {
  const why = rejected.issues.map(({ code, message }) => `${code}: ${message}`).join("; ");
  return `${style.dim(timeOfDay(rejected.receivedAt))}  ${style.red("refused")}  ${terminalText(why)}  ${style.dim(terminalText(rejected.messageId ?? ""))}\n`;
}

export function stateWord(state: DeliveryStateView, style: Style): string {
  return paintState(state, state, style);
}

function paintState(text: string, state: DeliveryStateView, style: Style): string {
  if (state === "delivered") return style.green(text);
  if (state === "failed") return style.red(text);
  return state === "pending" ? style.yellow(text) : style.dim(text);
}

const OTHER_STATES = ["failed", "pending", "filtered", "skipped", "suppressed"] as const;

/** What became of a message at all its destinations: `2/12 delivered, 4 failed, 6 pending`. */
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
    return found === 0 ? [] : [paintState(`${found} ${state}`, state, style)];
  });
  return [delivered === 0 ? style.dim(head) : style.green(head), ...others].join(", ");
}

/** `09:30:08.276` of an ISO time, in UTC as everywhere else. */
function timeOfDay(iso: string): string {
  return iso.slice(11, 23);
}
