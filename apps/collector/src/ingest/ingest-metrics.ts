import type { Clock } from "@sluice/resilience";
import type { ErrorCode } from "../errors.js";
import type { Logger } from "../process/telemetry/logger.js";
import { LATENCY_BUCKETS_SECONDS, type Metrics } from "../process/telemetry/metrics.js";
import type { Refusal } from "./messages/validate-messages.js";

/** Shown from the start, so that rates see the first one: 401, 413, 429 and 503. */
const EXPECTED_REFUSALS: readonly ErrorCode[] = [
  "invalid_write_key",
  "payload_too_large",
  "rate_limited",
  "storage_unavailable",
  "overloaded",
];

/** The metrics of ingestion. */
export interface IngestMetrics {
  /** `duplicates`: how many of them had been received before. */
  accepted(sourceId: string, messages: number, duplicates: number): void;
  rejected(refusals: readonly Refusal[]): void;
  /** A request was refused whole. */
  refused(code: ErrorCode): void;
  /** Call it when an append begins, and the function that it returns when the append has ended. */
  appending(): () => void;
}

export function ingestMetrics(metrics: Metrics, clock: Clock): IngestMetrics {
  const messages = metrics.counter(
    "sluice_ingest_messages_total",
    "Messages by result: accepted (new), duplicate, rejected",
    ["result"],
  );
  const bySource = metrics.counter("sluice_source_messages_total", "Messages stored, by source", ["source"]);
  const rejected = metrics.counter(
    "sluice_ingest_rejected_messages_total",
    "Refused messages by their first issue",
    ["code"],
  );
  const refused = metrics.counter(
    "sluice_ingest_refused_requests_total",
    "Requests refused as a whole, by code",
    ["code"],
  );
  const seconds = metrics.histogram(
    "sluice_ingest_append_seconds",
    "Time from passing a batch to the log until it is on disk",
    LATENCY_BUCKETS_SECONDS,
  );
  for (const result of ["accepted", "duplicate", "rejected"]) messages.inc([result], 0);
  for (const code of EXPECTED_REFUSALS) refused.inc([code], 0);
  let underWay = 0;
  metrics.gauge("sluice_ingest_appends_active", "Batches waiting for the log", () => underWay);
  return {
    accepted(sourceId, count, duplicates) {
      if (count > duplicates) bySource.inc([sourceId], count - duplicates);
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

/** The same metrics; they also log when the log stops to take messages, and when it takes them again. Each once, however many requests are refused. */
export function loggingOutages(
  metrics: IngestMetrics,
  { logger, reason }: { readonly logger: Logger; readonly reason: () => string | undefined },
): IngestMetrics {
  let refused = 0;
  return {
    ...metrics,
    refused(code) {
      metrics.refused(code);
      if (code !== "storage_unavailable") return;
      if (refused === 0)
        logger.error("messages are refused: the log cannot be written", { reason: reason() });
      refused += 1;
    },
    accepted(...counts) {
      metrics.accepted(...counts);
      if (refused > 0) logger.warn("messages are stored again", { refusedRequests: refused });
      refused = 0;
    },
  };
}
