import type { Offset, Settlement, StoredMessage } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import { below, type MessageTrace, newSpanId, type Tracing } from "../../process/telemetry/tracing.js";

/** Records a span from the end of a round until its result is on disk. */
export interface SettleTraces {
  concluded(stored: Pick<StoredMessage, "offset" | "messageId">, trace: MessageTrace | undefined): void;
  stored(settlement: Settlement): void;
}

interface Waiting {
  readonly trace: MessageTrace;
  readonly messageId: string;
  readonly startMs: number;
}

const NO_TRACES: SettleTraces = { concluded: () => {}, stored: () => {} };

export function settleTraces(
  tracing: Tracing | undefined,
  destinationId: string,
  clock: Pick<Clock, "now">,
): SettleTraces {
  if (tracing === undefined) return NO_TRACES;
  /** As many as results that wait to be stored, which the settler bounds. */
  const waiting = new Map<Offset, Waiting>();
  const end = (offset: Offset, state: string, reason: string): void => {
    const found = waiting.get(offset);
    if (found === undefined) return;
    waiting.delete(offset);
    tracing.record({
      name: "sluice settle",
      kind: "internal",
      ...below(found.trace),
      spanId: newSpanId(),
      startMs: found.startMs,
      endMs: clock.now(),
      attributes: {
        "messaging.message.id": found.messageId,
        "sluice.destination.id": destinationId,
        "sluice.state": state,
      },
      error: state === "failed" ? reason : undefined,
    });
  };
  return {
    concluded(stored, trace) {
      if (trace === undefined) return;
      waiting.set(stored.offset, { trace, messageId: stored.messageId, startMs: clock.now() });
    },
    stored({ outcomes, retries }) {
      for (const { offset, state, reason } of outcomes) end(offset, state, reason);
      for (const { offset, reason } of retries) end(offset, "pending", reason);
    },
  };
}
