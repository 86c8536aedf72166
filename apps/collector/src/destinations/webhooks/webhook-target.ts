import { type Clock, parseRetryAfter } from "@sluice/resilience";
import type { Endpoint, Exchange } from "../../sender/endpoint.js";
import type { Round, RoundAttempt } from "../destination.js";
import { classifyExchange, type Verdict } from "./classify-exchange.js";
import type { UrlResult } from "./conclude-round.js";
import type { RedactEcho } from "./request/redact-echo.js";
import { type WriteHeaders, withTraceHeaders } from "./request/request-headers.js";
import { tracedResponseHeaders } from "./request/response-headers.js";

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
