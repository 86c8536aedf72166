import type { RequestReport } from "./reports.js";

const UNAUTHORIZED = 401;

/** Says once, loudly, that the write key is refused: nothing of what this client sends will arrive. */
export function warnOfWrongKey(warn: (line: string) => void): (report: RequestReport) => void {
  let warned = false;
  return ({ status, reason }) => {
    if (status !== UNAUTHORIZED || warned) return;
    warned = true;
    warn(
      `[sluice] The collector refuses this write key (401): no event is stored. ${reason ?? ""}`.trimEnd(),
    );
  };
}

/** One attempt, on one line. */
export function requestLine(url: string, report: RequestReport): string {
  const { attempt, messages, bytes, status, reason, durationMs } = report;
  const answer = reason === undefined ? String(status) : `${status}: ${reason}`;
  return `POST ${url} attempt ${attempt}, ${messages} messages, ${bytes} bytes → ${answer} in ${durationMs} ms`;
}
