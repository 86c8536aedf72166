import {
  context,
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import type { Resource } from "@opentelemetry/resources";
import { BatchSpanProcessor, type Sampler, SamplingDecision, TracerProvider } from "@opentelemetry/sdk-trace";
import type { FinishedSpan } from "@sluice/collector";
import { parentBased, type SignalSettings } from "./settings.js";

/** `code` 0: it was exported. */
interface ExportResult {
  readonly code: number;
}

/** An exporter of spans or log records. */
interface Exporter<T> {
  export(items: T[], done: (result: ExportResult) => void): void;
}

/**
 * Counts what is queued and what is lost, around a batch processor of the SDK, which drops silently. The processor holds at most
 * `maxQueueSize` items, and one batch that is being sent.
 */
interface BoundedQueue {
  /** Whether the processor has room. If not, the item counts as dropped. */
  admit(): boolean;
  /** The exporter that the processor gets. */
  watch<T, E extends Exporter<T>>(exporter: E): E;
}

export function boundedQueue(maxQueueSize: number, onDropped: (count: number) => void): BoundedQueue {
  let queued = 0;
  return {
    admit() {
      if (queued >= maxQueueSize) {
        onDropped(1);
        return false;
      }
      queued++;
      return true;
    },
    watch(exporter) {
      const inner = exporter.export.bind(exporter);
      exporter.export = (items, done) => {
        queued -= items.length;
        inner(items, (result) => {
          if (result.code !== 0) onDropped(items.length);
          done(result);
        });
      };
      return exporter;
    },
  };
}

const KINDS = {
  consumer: SpanKind.CONSUMER,
  producer: SpanKind.PRODUCER,
  internal: SpanKind.INTERNAL,
} as const;

interface SpanRecorder {
  samples(traceId: string): boolean;
  record(span: FinishedSpan): void;
  close(): Promise<void>;
}

/** Exports finished spans in batches, with the SDK's processor and OTLP exporter. */
export function spanRecorder(
  settings: SignalSettings,
  {
    resource,
    root,
    version,
  }: { readonly resource: Resource; readonly root: Sampler; readonly version: string },
  onDropped: (count: number) => void,
): SpanRecorder {
  const Exporter = settings.protocol === "http/json" ? JsonExporter : ProtobufExporter;
  const { url, protocol: _, ...batching } = settings;
  const queue = boundedQueue(settings.maxQueueSize, onDropped);
  const exporter = queue.watch(new Exporter(url === undefined ? {} : { url }));
  /** The ids of the span that is being made: the collector has given them away in headers before. */
  let ids = { traceId: "", spanId: "" };
  const provider = new TracerProvider({
    resource,
    sampler: parentBased(root),
    idGenerator: { generateTraceId: () => ids.traceId, generateSpanId: () => ids.spanId },
    spanProcessors: [new BatchSpanProcessor({ exporter, ...batching })],
  });
  const tracer = provider.getTracer("@sluice/collector", version);
  return {
    samples: (traceId) =>
      root.shouldSample(context.active(), traceId, "sluice ingest", SpanKind.CONSUMER, {}, []).decision ===
      SamplingDecision.RECORD_AND_SAMPLED,
    record(finished) {
      if (!queue.admit()) return;
      ids = finished;
      const span = tracer.startSpan(
        finished.name,
        { kind: KINDS[finished.kind], startTime: finished.startMs, attributes: finished.attributes },
        parentOf(finished),
      );
      if (finished.error !== undefined)
        span.setStatus({ code: SpanStatusCode.ERROR, message: finished.error });
      span.end(finished.endMs);
    },
    close: () => provider.shutdown(),
  };
}

function parentOf({ traceId, parentSpanId, tracestate }: FinishedSpan) {
  if (parentSpanId === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId: parentSpanId,
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  });
}
