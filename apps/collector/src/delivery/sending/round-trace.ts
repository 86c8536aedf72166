import { readTraceContext } from "@sluice/protocol";
import type { AttemptTrace, RoundAttempt } from "../../destinations/destination.js";
import {
  below,
  type MessageTrace,
  messageTrace,
  newSpanId,
  type Tracing,
} from "../../process/telemetry/tracing.js";
import type { Work } from "../reading/work.js";

/** The trace of a message during one round. */
export interface RoundTrace {
  /** The message's trace. Undefined: it is not traced here. */
  readonly message: MessageTrace | undefined;
  /** The headers of an attempt that starts now. Undefined: the message belongs to no trace. */
  start(): AttemptTrace | undefined;
  /** An attempt ended. */
  ended(attempt: RoundAttempt, number: number, trace: AttemptTrace | undefined): void;
}

/** Without `tracing`, a message's own trace context is passed on as it came. */
export function roundTrace(
  { stored, matched }: Work,
  destinationId: string,
  tracing: Tracing | undefined,
): RoundTrace {
  const given = readTraceContext(matched.message.context);
  const trace = tracing && messageTrace(tracing, stored, given);
  if (tracing === undefined || trace === undefined) {
    return {
      message: undefined,
      start: () => given && { headers: headersOf(given.traceparent, given.tracestate) },
      ended: () => {},
    };
  }
  return {
    message: trace,
    start() {
      const spanId = newSpanId();
      return { headers: headersOf(`00-${trace.traceId}-${spanId}-01`, trace.tracestate), spanId };
    },
    ended(attempt, number, { spanId = newSpanId() } = { headers: [] }) {
      tracing.record({
        name: "sluice attempt",
        kind: "producer",
        ...below(trace),
        spanId,
        startMs: attempt.atMs,
        endMs: attempt.atMs + attempt.latencyMs,
        attributes: attemptAttributes(attempt, { number, destinationId, messageId: stored.messageId }),
        error: attempt.error?.message,
      });
    },
  };
}

function attemptAttributes(
  { url, status, error }: RoundAttempt,
  { number, destinationId, messageId }: { number: number; destinationId: string; messageId: string },
): Record<string, string | number> {
  return {
    "messaging.system": "sluice",
    "messaging.message.id": messageId,
    "sluice.destination.id": destinationId,
    "sluice.attempt": number,
    // Paths and queries of webhooks often carry secrets.
    ...(URL.canParse(url) ? { "server.address": new URL(url).host } : {}),
    ...(status === undefined ? {} : { "http.response.status_code": status }),
    ...(error === undefined ? {} : { "error.type": error.code }),
  };
}

function headersOf(traceparent: string, tracestate: string | undefined): string[] {
  return tracestate === undefined
    ? ["traceparent", traceparent]
    : ["traceparent", traceparent, "tracestate", tracestate];
}
