import { hash, randomBytes } from "node:crypto";
import type { TraceContext } from "@sluice/protocol";

/** Takes the spans of traced messages. It must neither throw nor wait. `@sluice/opentelemetry` exports them. */
export interface Tracing {
  /** Whether spans are exported. If false, webhooks carry the message's own trace context, as without tracing. Default: true. */
  readonly exportsSpans?: boolean;
  /** Whether a message without a trace of its own is traced. The answer for a trace id is always the same. */
  samples(traceId: string): boolean;
  /** Whether `samples` may say yes. If false, no id is derived for messages without a trace. Default: true. */
  readonly startsTraces?: boolean;
  /**
   * The share of messages without a trace for which `samples` says yes, if it decides as OpenTelemetry's `TraceIdRatioBased` does. Threads
   * decide for themselves then. Default: only the main thread can ask, and does all the work.
   */
  readonly share?: number;
  record(span: FinishedSpan): void;
  /** Tells the listener how many spans and log lines could not be exported. */
  onDropped(listener: (signal: "traces" | "logs", count: number) => void): void;
}

export interface FinishedSpan {
  readonly name: "sluice ingest" | "sluice attempt" | "sluice settle";
  readonly kind: "consumer" | "producer" | "internal";
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string | undefined;
  readonly tracestate?: string | undefined;
  /** Wall times. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** Why it failed. Absent: it did not. */
  readonly error?: string | undefined;
}

/** Where a traced message is in its trace. */
export interface MessageTrace {
  readonly traceId: string;
  /** The span in which the call was made. Absent: the application does not trace. */
  readonly parentSpanId?: string;
  /** The parent of everything that the collector does with the message. */
  readonly ingestSpanId: string;
  readonly tracestate?: string;
}

/**
 * The trace of a message; undefined if it is not sampled. `given` is the message's own trace context. Ids are derived from the message, so
 * that its deliveries find its trace hours and restarts later, and nothing is stored.
 */
export function messageTrace(
  tracing: Pick<Tracing, "samples" | "startsTraces">,
  { sourceId, messageId }: { readonly sourceId: string; readonly messageId: string },
  given: TraceContext | undefined,
): MessageTrace | undefined {
  if (given === undefined ? tracing.startsTraces === false : !given.isSampled) return undefined;
  const digest = hash("sha256", `${sourceId}\0${messageId}\0${given?.traceparent ?? ""}`);
  const traceId = given?.traceId ?? digest.slice(16, 48);
  if (given === undefined && !tracing.samples(traceId)) return undefined;
  return {
    traceId,
    ingestSpanId: digest.slice(0, 16),
    ...(given === undefined ? {} : { parentSpanId: given.spanId }),
    ...(given?.tracestate === undefined ? {} : { tracestate: given.tracestate }),
  };
}

/** The tracing of a thread whose spans are exported by another one. `share`: undefined if no spans are recorded. */
export function tracingOfThread(share: number | undefined, record: Tracing["record"]): Tracing | undefined {
  if (share === undefined) return undefined;
  return {
    samples: (traceId) => isInShare(traceId, share),
    startsTraces: share > 0,
    record,
    onDropped() {},
  };
}

/** Whether a trace belongs to the share of traces that are sampled, as OpenTelemetry's `TraceIdRatioBased` decides. */
export function isInShare(traceId: string, share: number): boolean {
  let folded = 0;
  for (let at = 0; at < 32; at += 8) folded ^= Number.parseInt(traceId.slice(at, at + 8), 16);
  return folded >>> 0 < (share === 1 ? 2 ** 32 : Math.floor(share * 0xffffffff));
}

export function newSpanId(): string {
  return randomBytes(8).toString("hex");
}

/** The place of a span below the one of ingestion. */
export function below(trace: MessageTrace): {
  readonly traceId: string;
  readonly parentSpanId: string;
  readonly tracestate?: string | undefined;
} {
  return { traceId: trace.traceId, parentSpanId: trace.ingestSpanId, tracestate: trace.tracestate };
}
