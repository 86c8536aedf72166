import type { Clock } from "@sluice/resilience";
import type { ErrorCode } from "../errors.js";
import { LATENCY_BUCKETS_SECONDS, type Metrics } from "../process/metrics.js";
import type { Refusal } from "./judge.js";

/** What ingestion counts. */
export interface IngestMetrics {
  /** `duplicates` of these messages were known before. */
  accepted(messages: number, duplicates: number): void;
  rejected(refusals: readonly Refusal[]): void;
  /** A request was refused whole. */
  refused(code: ErrorCode): void;
  /** Called when a batch goes to the log; the function it answers, when that has ended. */
  appending(): () => void;
}

export function ingestMetrics(metrics: Metrics, clock: Clock): IngestMetrics {
  const messages = metrics.counter(
    "sluice_ingest_messages_total",
    "Messages by what became of them: accepted (new), duplicate, rejected",
    ["result"],
  );
  const rejected = metrics.counter("sluice_ingest_rejected_total", "Refused messages by the first reason", [
    "code",
  ]);
  const refused = metrics.counter(
    "sluice_ingest_refused_requests_total",
    "Requests that were refused whole, by code",
    ["code"],
  );
  const seconds = metrics.histogram(
    "sluice_ingest_append_seconds",
    "From handing a batch to the log to its being on disk",
    LATENCY_BUCKETS_SECONDS,
  );
  let underWay = 0;
  metrics.gauge("sluice_ingest_appends_active", "Batches that wait for the log", () => underWay);
  return {
    accepted(count, duplicates) {
      messages.inc(["accepted"], count - duplicates);
      if (duplicates > 0) messages.inc(["duplicate"], duplicates);
    },
    rejected(refusals) {
      messages.inc(["rejected"], refusals.length);
      for (const { issues } of refusals) rejected.inc([issues[0]?.code ?? "unknown"]);
    },
    refused: (code) => refused.inc([code]),
    appending() {
      underWay++;
      const startedMs = clock.monotonic();
      return () => {
        underWay--;
        seconds.observe((clock.monotonic() - startedMs) / 1_000);
      };
    },
  };
}
