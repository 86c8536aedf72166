import type { RejectedMessage } from "@sluice/protocol";
import { parseRetryAfter } from "@sluice/resilience";
import type { TransportOutcome } from "../transport.js";
import type { AttemptOutcome } from "./outcome.js";

/** All 5xx are retried except these, which do not depend on when the request is made. */
const PERMANENT_5XX: ReadonlySet<number> = new Set([501, 505, 511]);
/** 410 and 460 come from load balancers that lost a backend or the client's connection, not from the collector. */
const RETRIED_4XX: ReadonlySet<number> = new Set([408, 410, 429, 460]);

/** The longest `Retry-After` that is followed. */
export const RETRY_AFTER_CAP_MS = 300_000;

/** Tells what the end of an exchange means for the batch that it carried. */
export function classifyResponse(outcome: TransportOutcome, nowMs: number): AttemptOutcome {
  if (outcome.kind === "failed") return { kind: "retryable", status: -1, reason: outcome.reason };
  const { status, body } = outcome;
  if (status >= 200 && status < 300) return { kind: "delivered", status, rejected: rejectedIn(body) };
  const reason = serverText(status, body);
  if (status === 413) return { kind: "too_large", status, reason };
  if (RETRIED_4XX.has(status) || (status >= 500 && status < 600 && !PERMANENT_5XX.has(status))) {
    const askedMs = parseRetryAfter(outcome.retryAfter, nowMs);
    const retryAfterMs = askedMs === undefined ? undefined : Math.min(askedMs, RETRY_AFTER_CAP_MS);
    return { kind: "retryable", status, reason, retryAfterMs };
  }
  return { kind: "rejected", status, reason };
}

/** The refused messages in a 2xx answer. A body of another shape refuses none: the batch was delivered. */
function rejectedIn(body: string): readonly RejectedMessage[] {
  if (!body.includes('"rejected"')) return [];
  const { rejected } = parsed(body);
  if (!Array.isArray(rejected)) return [];
  return rejected.filter((verdict): verdict is RejectedMessage => Number.isInteger(verdict?.index));
}

const LONGEST_TEXT = 500;

/** The server's error on one line: `code: message` if the body has them, else the start of the body. */
function serverText(status: number, body: string): string {
  const error = parsed(body);
  const words = [error.code, error.message].filter((word) => typeof word === "string" && word !== "");
  const [code, message] = words;
  // The collector's messages begin with their code.
  const includesCode = typeof message === "string" && message.startsWith(`${String(code)}:`);
  const text = words.length > 0 ? (includesCode ? message : words.join(": ")) : body;
  const line = text.replace(/\s+/g, " ").trim().slice(0, LONGEST_TEXT);
  return line === "" ? `HTTP ${status}` : line;
}

/** Without fields if the body is something else. */
function parsed(body: string): { readonly [name in "rejected" | "code" | "message"]?: unknown } {
  try {
    return JSON.parse(body) ?? {};
  } catch {
    return {};
  }
}
