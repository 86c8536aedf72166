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

/** Describes one attempt on one line. */
export function requestLine(url: string, report: RequestReport): string {
  const { attempt, messages, bytes, status, reason, durationMs } = report;
  const answer = reason === undefined ? String(status) : `${status}: ${reason}`;
  return `POST ${url} attempt ${attempt}, ${messages} messages, ${bytes} bytes → ${answer} in ${durationMs} ms`;
}
