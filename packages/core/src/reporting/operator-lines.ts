import type { RequestReport } from "../sending/http-sender.js";

const UNAUTHORIZED = 401;

/** Returns a function that warns once, at the first answer that refuses the write key: nothing that this client sends will arrive. */
export function warnOfWrongKey(warn: (line: string) => void): (report: RequestReport) => void {
  let hasWarned = false;
  return ({ status, reason }) => {
    if (status !== UNAUTHORIZED || hasWarned) return;
    hasWarned = true;
    warn(
      `[sluice] The collector refuses this write key (401): no event is stored. ${reason ?? ""}`.trimEnd(),
    );
  };
}

/** Describes the first refusal that nobody listens to. */
export function refusalWarning(code: string, text: string): string {
  const reason = text.startsWith(`${code}:`) ? text : `${code}: ${text}`;
  return `[sluice] A message was refused, and nothing listens: ${reason}. Set onError to see every loss; this warning is printed once.`;
}

/** Returns a function that warns once that messages wait for a flush, on runtimes where only a flush sends. */
export function warnOfUnsent(warn: (line: string) => void): () => void {
  let hasWarned = false;
  return () => {
    if (hasWarned) return;
    hasWarned = true;
    warn(
      "[sluice] Messages wait, and nothing sends them: on this runtime only flush() and `waitUntil` do. Call flush() in each request, or set `waitUntil`.",
    );
  };
}

const SILENCE = "`quiet: true` hides this line.";

/** Returns a function that warns once, when a batch has failed for the second time: until it succeeds, nothing else would be printed. */
export function warnOfFailedAttempts(
  url: string,
  warn: (line: string) => void,
): (report: RequestReport) => void {
  let hasWarned = false;
  return ({ attempt, reason }) => {
    if (attempt < 2 || reason === undefined || hasWarned) return;
    hasWarned = true;
    warn(`[sluice] Sending to ${url} failed ${attempt} times: ${reason}. The SDK keeps trying. ${SILENCE}`);
  };
}

/** Says what was lost, for applications that do not listen for losses. */
export function lossLine(url: string, { messages, reason }: { messages: number; reason: string }): string {
  const lost = messages === 1 ? "1 message was lost" : `${messages} messages were lost`;
  return `[sluice] ${lost}, on the way to ${url}: ${reason}. Set \`onError\` to handle losses. ${SILENCE}`;
}

/** Describes one attempt on one line. */
export function requestLine(url: string, report: RequestReport): string {
  const { attempt, messages, bytes, status, reason, durationMs } = report;
  const answer = reason === undefined ? String(status) : `${status}: ${reason}`;
  return `POST ${url} attempt ${attempt}, ${messages} messages, ${bytes} bytes → ${answer} in ${durationMs} ms`;
}
