import type { Rejection, Store } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { Suppressions } from "../documents/suppressions.js";
import { collectorErrorOf } from "../errors.js";
import type { LiveEvents } from "../process/telemetry/live-events.js";
import type { IngestMetrics } from "./ingest-metrics.js";
import { wholeRejection } from "./rejections.js";
import type { Credentials } from "./sources/authenticator.js";

export interface RejectionRecorderOptions {
  readonly store: Pick<Store, "rejections">;
  readonly live: Pick<LiveEvents, "watched" | "publish">;
  readonly metrics: IngestMetrics;
  readonly clock: Clock;
  readonly suppressions?: Pick<Suppressions, "isSuppressed"> | undefined;
}

/** Records refused messages for the debugger. */
export interface RejectionRecorder {
  add(rejections: readonly Rejection[]): void;
  /** Counts a request that was refused whole, and records it if its header named a valid key. */
  addRequest(error: unknown, header: Credentials | undefined, body: Uint8Array | undefined): void;
}

export function rejectionRecorder(options: RejectionRecorderOptions): RejectionRecorder {
  const { store, live, metrics, clock, suppressions } = options;
  const add = (rejections: readonly Rejection[]): void => {
    store.rejections.add(rejections);
    if (live.watched) for (const rejection of rejections) live.publish({ kind: "rejected", rejection });
  };
  return {
    add,
    addRequest(error, header, body) {
      const refusal = collectorErrorOf(error);
      if (refusal.code === "internal") return;
      metrics.refused(refusal.code);
      if (header === undefined) return;
      const { source, writeKey } = header;
      const from = { sourceId: source.id, receivedAtMs: clock.now(), writeKey, body, suppressions };
      const rejection = wholeRejection(refusal, from);
      if (rejection !== undefined) add([rejection]);
    },
  };
}
