import type { ResponseHeaders } from "@sluice/event-log";
import { type Clock, parseRetryAfter } from "@sluice/resilience";
import type { Endpoint, Exchange } from "../../sender/endpoint.js";
import type { Round, RoundAttempt } from "../destination.js";
import type { UrlResult } from "./conclude-round.js";
import { classifyExchange, type Verdict } from "./conclude-round.js";
import { carriesCredential } from "./request/custom-headers.js";
import type { RedactEcho } from "./request/redact-echo.js";
import { REDACTED } from "./request/redact-echo.js";
import { type WriteHeaders, withTraceHeaders } from "./request/request-headers.js";

/** Limits of what is stored. A test compares them with `docs/reference/webhook-delivery.md`. */
export const RESPONSE_HEADERS = { most: 30, bytes: 2_048, valueCharacters: 512 } as const;

/**
 * Left out, because it says nothing that the attempt's own time does not say, and changes every second: without it, the failures of a
 * receiver mostly share one stored set of headers.
 */
const NOT_STORED = "date";

/** These match as credentials by their names, but say what the receiver asks for. */
const HARMLESS = /^(www-authenticate|proxy-authenticate|access-control-.*)$/;
const CREDENTIAL_VALUE = /^(basic|bearer|digest|negotiate|token) +\S/i;

/**
 * The headers of a response to store, names in lower case. `headers`: names and values by turns. Values of a repeated header are joined.
 * Credentials are redacted, also those of the request that the receiver repeats.
 */
export function tracedResponseHeaders(headers: readonly string[], redactEcho: RedactEcho): ResponseHeaders {
  const shown = new Map<string, string>();
  let leftOut = 0;
  let bytes = 0;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index]?.toLowerCase() ?? "";
    if (name === NOT_STORED) continue;
    const value = cut(shownValue(name, headers[index + 1] ?? "", redactEcho));
    const before = shown.get(name);
    // The name counts once.
    const added = Buffer.byteLength(before === undefined ? name + value : `, ${value}`);
    const isFull = before === undefined && shown.size >= RESPONSE_HEADERS.most;
    if (isFull || bytes + added > RESPONSE_HEADERS.bytes) {
      leftOut += 1;
      continue;
    }
    bytes += added;
    shown.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return { shown: Object.fromEntries(shown), leftOut };
}

function shownValue(name: string, value: string, redactEcho: RedactEcho): string {
  if (HARMLESS.test(name)) return redactEcho(value);
  return carriesCredential(name) || CREDENTIAL_VALUE.test(value) ? REDACTED : redactEcho(value);
}

/** After masking: a part of a credential would not be recognized. */
function cut(value: string): string {
  const { valueCharacters } = RESPONSE_HEADERS;
  return value.length > valueCharacters ? `${value.slice(0, valueCharacters)}…` : value;
}

/** A URL that messages are posted to. */
export interface Target {
  readonly url: string;
  readonly headers: WriteHeaders;
  /** The headers to store in the trace. */
  readonly traced: Readonly<Record<string, string>>;
  /** Removes credentials from the stored part of a response. */
  readonly redactEcho: RedactEcho;
  readonly endpoint: Endpoint;
}

/** Posts a message to one URL, records the attempt in the trace, and classifies the result. */
export async function postTo(
  target: Target,
  messageId: string,
  body: Buffer,
  round: Round,
  clock: Clock,
): Promise<UrlResult> {
  const { url, endpoint } = target;
  const atMs = clock.now();
  const trace = round.startTrace?.();
  const headers = target.headers(messageId, round.numberAt(url), body, atMs);
  const exchange = await endpoint.post(
    trace === undefined ? headers : withTraceHeaders(headers, trace.headers),
    body,
  );
  const verdict = classifyExchange(exchange);
  if (verdict.kind !== "aborted") round.record(toAttempt(target, atMs, exchange, verdict), trace);
  if (verdict.kind === "gone") round.gone(url);
  return exchange.kind === "answered" && exchange.retryAfter !== undefined
    ? { url, verdict, retryAfterMs: parseRetryAfter(exchange.retryAfter, clock.now()) }
    : { url, verdict };
}

function toAttempt(target: Target, atMs: number, exchange: Exchange, verdict: Verdict): RoundAttempt {
  const isAnswered = exchange.kind === "answered";
  return {
    atMs,
    url: target.url,
    address: exchange.address,
    status: isAnswered ? exchange.status : undefined,
    error: "error" in verdict ? verdict.error : undefined,
    latencyMs: exchange.latencyMs,
    requestHeaders: target.traced,
    response: isAnswered ? target.redactEcho(exchange.body) : undefined,
    responseHeaders:
      isAnswered && exchange.headers ? tracedResponseHeaders(exchange.headers, target.redactEcho) : undefined,
  };
}
