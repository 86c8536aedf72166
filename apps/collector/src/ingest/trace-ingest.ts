import type { NewBatch } from "@sluice/event-log";
import { isPlainObject, readTraceContext, type TraceContext } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { messageTrace, type Tracing } from "../process/telemetry/tracing.js";

/** Call it when an append begins, and the function that it returns when the batch is stored. */
export type TraceIngest = (batch: NewBatch) => (duplicates: readonly number[]) => void;

/** Records a span for each traced message of a batch. */
export function ingestTracer(tracing: Tracing, clock: Pick<Clock, "now">): TraceIngest {
  return (batch) => {
    const startMs = clock.now();
    return (duplicates) => {
      const endMs = clock.now();
      const givenTo = givenTraces(batch);
      if (givenTo === undefined && tracing.startsTraces === false) return;
      const known = new Set(duplicates);
      for (const { index, messageId, type } of batch.keys) {
        if (known.has(index)) continue;
        const trace = messageTrace(tracing, { sourceId: batch.sourceId, messageId }, givenTo?.(index));
        if (trace === undefined) continue;
        tracing.record({
          name: "sluice ingest",
          kind: "consumer",
          traceId: trace.traceId,
          spanId: trace.ingestSpanId,
          parentSpanId: trace.parentSpanId,
          tracestate: trace.tracestate,
          startMs,
          endMs,
          attributes: {
            "messaging.system": "sluice",
            "messaging.message.id": messageId,
            "messaging.batch.message_count": batch.keys.length,
            "sluice.source.id": batch.sourceId,
            "sluice.message.type": type,
          },
        });
      }
    };
  };
}

/** The trace contexts of a batch's items. Undefined, and nothing is parsed, if the body names none. */
function givenTraces({ body, kind }: NewBatch): ((index: number) => TraceContext | undefined) | undefined {
  if (!Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes("traceparent")) return undefined;
  const envelope = parsed(body);
  const ofEnvelope = isPlainObject(envelope) ? envelope.context : undefined;
  const items =
    kind === undefined && isPlainObject(envelope) && Array.isArray(envelope.batch)
      ? envelope.batch
      : [envelope];
  return (index) => {
    const item: unknown = items[index];
    const own = isPlainObject(item) ? item.context : undefined;
    if (!isPlainObject(ofEnvelope)) return readTraceContext(own);
    return readTraceContext({ ...ofEnvelope, ...(isPlainObject(own) ? own : {}) });
  };
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString("utf8"));
  } catch {
    // The collector's own parser takes bodies that this one does not.
    return undefined;
  }
}
