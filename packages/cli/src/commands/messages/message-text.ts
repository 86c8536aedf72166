import type { MessageView, OutcomeSummary, OutcomeView } from "@sluice/control-api";
import type { Io } from "../../terminal/io.js";
import { plural, stateWord } from "../../terminal/plural.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";

/** The name of a destination by its id. */
export type NameOf = (destinationId: string) => string;

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
  return `  → ${stateWord(state, io.style)} ${terminalText(names(destinationId))}: ${terminalText(reason)}${retry}\n`;
}
