import { formatTime, RETRY_COUNT_HEADER } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { contained } from "../errors/contained.js";
import { reasonOf } from "../errors/reason-of.js";
import { type Batch, batchBody } from "../message/batch.js";
import type { RequestReport } from "../reporting/reports.js";
import type { Transport, TransportOutcome, TransportRequest } from "../transport/transport.js";
import { classifyResponse, type SendOutcome } from "./classify-response.js";
import type { Instrument } from "./instrument.js";

/** Sends one batch once. `retries` is how often it was sent before. Never throws. */
export type Attempt = (batch: Batch, retries: number, signal: AbortSignal) => Promise<SendOutcome>;

export interface AttemptOptions {
  readonly url: string;
  readonly writeKey: string;
  readonly userAgent: string;
  readonly timeoutMs: number;
  readonly transport: Transport;
  readonly clock: Clock;
  /** Absent: bodies go as they are. */
  readonly gzip?: ((text: string) => Promise<Uint8Array>) | undefined;
  readonly instrument?: Instrument | undefined;
  readonly onRequest: (report: RequestReport) => void;
}

export function attemptWith(options: AttemptOptions): Attempt {
  const { url, timeoutMs, transport, clock, gzip, instrument, onRequest } = options;
  const baseHeaders = {
    authorization: `Basic ${base64(`${options.writeKey}:`)}`,
    "content-type": "application/json",
    "user-agent": options.userAgent,
  };

  return async (batch, retries, signal) => {
    const startedMs = clock.monotonic();
    const text = batchBody(batch, formatTime(clock.now()));
    const bytes = byteSizeOf(batch, text);
    const headers: Record<string, string> = { ...baseHeaders };
    if (retries > 0) headers[RETRY_COUNT_HEADER.toLowerCase()] = String(retries);
    const end = contained(instrument, { url, attempt: retries + 1, messages: batch.length, bytes, headers });

    const body = gzip ? await gzip(text).catch(() => text) : text;
    // A runtime that cannot compress sends as it is.
    if (typeof body !== "string") headers["content-encoding"] = "gzip";
    const answer = await exchange(
      transport,
      { url, method: "POST", headers, body },
      clock,
      timeoutMs,
      signal,
    );
    const outcome = classifyResponse(answer, clock.now());

    const { status } = outcome;
    const reason = outcome.kind === "delivered" ? undefined : outcome.reason;
    if (typeof end === "function") contained(end as (end: object) => void, { status, reason });
    const durationMs = clock.monotonic() - startedMs;
    onRequest({ attempt: retries + 1, messages: batch.length, bytes, status, reason, durationMs });
    return outcome;
  };
}

/** The messages were measured at their calls; what remains of the body is ASCII. */
function byteSizeOf(batch: Batch, text: string): number {
  let bytes = text.length;
  for (const message of batch) bytes += message.bytes - message.json.length;
  return bytes;
}

/**
 * One exchange under a deadline. The race holds it even for a transport that ignores its signal; the transport of the
 * caller's own making may also throw, against its contract.
 */
async function exchange(
  transport: Transport,
  request: TransportRequest,
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<TransportOutcome> {
  if (signal.aborted) return { kind: "failed", reason: reasonOf(signal.reason) };
  const abort = new AbortController();
  return new Promise((resolve) => {
    const settle = (outcome: TransportOutcome): void => {
      cancelTimeout();
      signal.removeEventListener("abort", onAbort);
      resolve(outcome);
    };
    const stop = (reason: Error): void => {
      settle({ kind: "failed", reason: reason.message });
      abort.abort(reason);
    };
    const onAbort = (): void => stop(new Error(reasonOf(signal.reason)));
    const cancelTimeout = clock.after(timeoutMs, () => stop(new Error(`No answer within ${timeoutMs} ms`)));
    signal.addEventListener("abort", onAbort, { once: true });
    const fail = (error: unknown): void => settle({ kind: "failed", reason: reasonOf(error) });
    try {
      transport.send(request, abort.signal).then((outcome) => settle(checked(outcome)), fail);
    } catch (error) {
      fail(error);
    }
  });
}

/** What a transport of the caller's own making answered, brought to its contract. */
function checked(outcome: TransportOutcome | undefined): TransportOutcome {
  if (outcome?.kind === "answered" && typeof outcome.status === "number") {
    const { status, retryAfter, body } = outcome;
    return {
      kind: "answered",
      status,
      retryAfter: retryAfter === undefined ? undefined : String(retryAfter),
      body: String(body),
    };
  }
  const reason = outcome?.kind === "failed" ? String(outcome.reason) : "The transport gave no outcome";
  return { kind: "failed", reason };
}

function base64(text: string): string {
  let binary = "";
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
}
