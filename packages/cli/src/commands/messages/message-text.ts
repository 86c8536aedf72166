import {
  type DeliveryStateView,
  describeReason,
  type LiveEventView,
  type MessageSummary,
  type MessageView,
  type OutcomeSummary,
  type OutcomeView,
  type RejectedMessageView,
} from "@sluice/control-api";
import type { Io } from "../../terminal/io.js";
import { PLAIN, plural, type Style, stateWord } from "../../terminal/style.js";
import { table } from "../../terminal/table.js";
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
  const user = clip(terminalText(String(message.userId || message.anonymousId || "")), 24);
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
  return `${style.dim(timeOfDay(outcome.at))}    → ${stateWord(outcome.state, style)} ${terminalText(destination)}: ${terminalText(describeReason(outcome.reason))}${retry}  ${style.dim(terminalText(outcome.messageId))}\n`;
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
function outcomeCounts(outcomes: readonly { readonly state: DeliveryStateView }[], style: Style): string {
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

/** Characters of a value that a cell shows. `messages get` shows all of them. */
const NAME_WIDTH = 28;
const USER_WIDTH = 20;
const REASON_WIDTH = 60;

/** Messages with the day and time of their receipt, in UTC like everywhere on the command line. */
export function messagesTable(messages: readonly MessageSummary[], io: Io): string {
  if (messages.length === 0) return "no message matches\n";
  return table(
    ["RECEIVED (UTC)", "TYPE", "EVENT", "USER", "OUTCOMES", "ID"],
    messages.map(({ receivedAt, messageId, message, outcomes }) => [
      dayAndTime(receivedAt),
      String(message.type),
      clip(text(message.event ?? message.name ?? message.groupId ?? message.previousId), NAME_WIDTH),
      clip(text(message.userId || message.anonymousId), USER_WIDTH),
      outcomeCounts(outcomes, PLAIN),
      messageId,
    ]),
    io,
  );
}

export function rejectedTable(rejected: readonly RejectedMessageView[], io: Io): string {
  if (rejected.length === 0) return "no message was refused\n";
  return table(
    ["RECEIVED (UTC)", "REASON", "ID"],
    rejected.map(({ receivedAt, issues, messageId = "" }) => [
      dayAndTime(receivedAt),
      clip(issues.map(({ code, message }) => `${code}: ${message}`).join("; "), REASON_WIDTH),
      messageId,
    ]),
    io,
  );
}

/** Filters look at stored messages only. */
export function refusedHint({ invocation }: Io): string {
  return `A filter finds no refused messages. They are here: ${invocation} messages list --rejected`;
}

function text(value: unknown): string {
  return value === undefined || value === null ? "" : String(value);
}

/** `2026-11-21 09:30:08` from an ISO time. */
function dayAndTime(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}

/** The name of a destination by its id. */
type NameOf = (destinationId: string) => string;

export function destinationsOf(message: MessageView): string[] {
  return message.state === "rejected" ? [] : message.outcomes.map(({ destinationId }) => destinationId);
}

/** A message and its outcome at each destination, one line each. */
export function messageSummary(message: MessageView, names: NameOf, io: Io): string {
  if (message.state === "rejected") return headLines(message, io);
  const outcomes = message.outcomes.map((outcome) => outcomeText(outcome, names, io));
  return headLines(message, io) + outcomes.join("");
}

/** A message with its outcomes, all attempts and its contents. */
export function messageDetails(message: MessageView, names: NameOf, io: Io): string {
  const { style } = io;
  if (message.state === "rejected") return `${headLines(message, io)}${terminalText(message.excerpt)}\n`;
  const outcomes = message.outcomes.map((outcome) => {
    const attempts = outcome.attempts.map(
      ({ attempt, at, url, status, error, latencyMs, transformation }) => {
        const result = status ?? style.red(terminalText(error?.code ?? ""));
        const detail = error === undefined ? "" : `  ${terminalText(error.message)}`;
        const by = transformation === undefined ? "" : `  after ${terminalText(transformation)}`;
        return `      ${attempt}. ${at}  ${result}  ${Math.round(latencyMs)} ms  ${terminalText(url)}${by}${detail}\n`;
      },
    );
    return outcomeText(outcome, names, io) + attempts.join("") + lastFailure(outcome, io);
  });
  return `${headLines(message, io)}${outcomes.join("")}${terminalJson(message.message, 2)}\n`;
}

/** Request and response of the last attempt, if it failed. */
function lastFailure({ attempts, requestBody }: OutcomeView, { style }: Io): string {
  const last = attempts.at(-1);
  if (last?.error === undefined) return "";
  const { requestHeaders, responseHeaders, responseHeadersLeftOut: leftOut, response } = last;
  const more =
    leftOut === undefined ? "" : `          … and ${plural(leftOut, "more header", "more headers")}\n`;
  const changedAt = requestBody?.settingsChangedAt;
  const isChanged = changedAt !== undefined && Date.parse(changedAt) > Date.parse(last.at);
  const note = isChanged ? ", with today's settings" : "";
  const parts: readonly (readonly [title: string, text: string])[] = [
    ["request headers", headerLines(requestHeaders)],
    [`request body${note}`, bodyLine(requestBody?.text)],
    ["response headers", headerLines(responseHeaders) + more],
    ["response body", bodyLine(response)],
  ];
  return parts
    .filter(([, text]) => text !== "")
    .map(([title, text]) => `        ${style.dim(title)}\n${text}`)
    .join("");
}

function headerLines(headers: { readonly [name: string]: string } = {}): string {
  const lines = Object.entries(headers).map(
    ([name, value]) => `          ${terminalText(name)}: ${terminalText(value)}\n`,
  );
  return lines.join("");
}

/** Characters of a body to print; `--json` prints all that is known. */
const SHOWN_CHARACTERS = 1_000;

function bodyLine(text = ""): string {
  if (text === "") return "";
  const end = text.length > SHOWN_CHARACTERS ? `… (${text.length - SHOWN_CHARACTERS} more)` : "";
  return `          ${terminalText(text.slice(0, SHOWN_CHARACTERS))}${end}\n`;
}

function headLines(message: MessageView, { style }: Io): string {
  const state = message.state === "rejected" ? style.red("refused") : "accepted";
  const line = `${style.bold(terminalText(message.messageId ?? ""))}  ${state} ${message.receivedAt}  source ${terminalText(message.sourceId)}\n`;
  const paint = message.state === "rejected" ? style.red : style.yellow;
  const issues = (message.issues ?? []).map(
    ({ code, message: reason }) => `  ${paint(terminalText(code))} ${terminalText(reason)}\n`,
  );
  return line + issues.join("");
}

function outcomeText(
  { state, destinationId, reason, nextAttemptAt }: OutcomeSummary,
  names: NameOf,
  io: Io,
): string {
  const retry = nextAttemptAt === undefined ? "" : `, next attempt at ${nextAttemptAt}`;
  return `  → ${stateWord(state, io.style)} ${terminalText(names(destinationId))}: ${terminalText(describeReason(reason))}${retry}\n`;
}
