import type { Clock } from "@sluice/resilience";
import type { ErrorCode } from "../errors.js";
import { clientGroup } from "../http/body/amounts-by-address.js";
import type { Health } from "../http/health-routes.js";
import type { Logger } from "../process/telemetry/logger.js";
import { LATENCY_BUCKETS_SECONDS, type Metrics } from "../process/telemetry/metrics.js";
import { Recent } from "../process/telemetry/recent.js";
import { LevelOfThreads, type Tally, type TallyCounter, tallyCounter } from "../process/telemetry/tally.js";
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
  /** Requests were refused whole. */
  refused(code: ErrorCode, requests?: number): void;
  /** Call it when an append begins, and the function that it returns when the append has ended. */
  appending(): () => void;
}

/** What another thread counted since the last time. */
export interface IngestCounts {
  /** By source. */
  readonly accepted: Tally;
  readonly duplicates: Tally;
  /** By the code of the first issue. */
  readonly rejected: Tally;
  readonly refused: Tally;
  readonly appendSeconds: readonly number[];
  /** Batches that wait for the log now. */
  readonly appending: number;
}

export interface IngestMetricsOfProcess extends IngestMetrics {
  take(thread: number, counts: IngestCounts): void;
}

interface OutageLog {
  readonly logger: Pick<Logger, "error" | "warn">;
  readonly health: () => Health;
}

/** `outages`: logs when the log stops to take messages, and when it takes them again. Default: nothing is logged. */
export function ingestMetrics(metrics: Metrics, clock: Clock, outages?: OutageLog): IngestMetricsOfProcess {
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
  const elsewhere = new LevelOfThreads();
  const active = (): number => underWay + elsewhere.sum;
  metrics.gauge("sluice_ingest_appends_active", "Batches waiting for the log", active);
  const logOutage = outageLog(outages);
  const countRejected = (labels: readonly string[], count: number): void => {
    messages.inc(["rejected"], count);
    rejected.inc(labels, count);
  };
  const of: IngestMetrics = {
    accepted(sourceId, count, duplicates) {
      if (count > duplicates) bySource.inc([sourceId], count - duplicates);
      messages.inc(["accepted"], count - duplicates);
      if (duplicates > 0) messages.inc(["duplicate"], duplicates);
      logOutage.accepted();
    },
    rejected(refusals) {
      for (const { issues } of refusals) countRejected(issueLabels(issues), 1);
    },
    refused(code, requests = 1) {
      refused.inc([code], requests);
      if (code === "storage_unavailable") logOutage.refused(requests);
    },
    appending() {
      underWay++;
      const startedMs = clock.monotonic();
      return () => {
        underWay--;
        seconds.observe((clock.monotonic() - startedMs) / 1_000);
      };
    },
  };
  return {
    ...of,
    take(thread, counts) {
      const known = new Map(counts.duplicates.map(([[sourceId = ""], count]) => [sourceId, count]));
      for (const [[sourceId = ""], count] of counts.accepted)
        of.accepted(sourceId, count, known.get(sourceId) ?? 0);
      for (const [labels, count] of counts.rejected) countRejected(labels, count);
      for (const [[code], count] of counts.refused) of.refused(code as ErrorCode, count);
      for (const value of counts.appendSeconds) seconds.observe(value);
      elsewhere.set(thread, counts.appending);
    },
  };
}

/** Logs each outage once, however many requests are refused. */
function outageLog(to: OutageLog | undefined) {
  let refused = 0;
  return {
    refused(requests: number) {
      if (refused === 0) {
        const health = to?.health();
        const reason = health?.kind === "unavailable" ? health.reason : undefined;
        to?.logger.error("messages are refused: the log cannot be written", { reason });
      }
      refused += requests;
    },
    accepted() {
      if (refused > 0) to?.logger.warn("messages are stored again", { refusedRequests: refused });
      refused = 0;
    },
  };
}

const issueLabels = ([first]: Refusal["issues"]): readonly string[] => [first?.code ?? "unknown"];

/** Counts for the thread that shows the metrics. `changed` is called when something is counted. */
export function ingestTally(clock: Clock, changed: () => void): IngestMetrics & { take(): IngestCounts } {
  const [accepted, duplicates, rejected, refused] = [1, 2, 3, 4].map(() => tallyCounter(changed)) as [
    TallyCounter,
    TallyCounter,
    TallyCounter,
    TallyCounter,
  ];
  let appendSeconds: number[] = [];
  let appending = 0;
  return {
    accepted(sourceId, count, known) {
      accepted.inc([sourceId], count);
      if (known > 0) duplicates.inc([sourceId], known);
    },
    rejected(refusals) {
      for (const { issues } of refusals) rejected.inc(issueLabels(issues));
    },
    refused: (code, requests) => refused.inc([code], requests),
    appending() {
      appending++;
      const startedMs = clock.monotonic();
      return () => {
        appending--;
        appendSeconds.push((clock.monotonic() - startedMs) / 1_000);
        changed();
      };
    },
    take() {
      const seconds = appendSeconds;
      appendSeconds = [];
      return {
        accepted: accepted.take(),
        duplicates: duplicates.take(),
        rejected: rejected.take(),
        refused: refused.take(),
        appendSeconds: seconds,
        appending,
      };
    },
  };
}

/** Of a thread that has ended. */
export const NO_INGEST_COUNTS: IngestCounts = {
  accepted: [],
  duplicates: [],
  rejected: [],
  refused: [],
  appendSeconds: [],
  appending: 0,
};

/** Where requests with an unknown write key came from, so that somebody can find the client. At most 250 characters. */
interface WrongKey {
  /** Undefined: the request named no key. */
  readonly keyPrefix: string | undefined;
  /** An IPv4 address, or the /64 block of an IPv6 address. */
  readonly address: string;
  /** The `User-Agent`, which names the library. */
  readonly client: string | undefined;
}

export interface WrongKeys {
  readonly recent: Recent<WrongKey>;
  add(request: {
    readonly writeKey: string | undefined;
    readonly address: string;
    readonly client: string | undefined;
  }): void;
}

/** Shown of a key: enough to find it, too little to use it. Of a short key, a third. */
const PREFIX_LENGTH = 8;
const CLIENT_LENGTH = 100;

export function wrongKeys(clock: Pick<Clock, "now">): WrongKeys {
  const recent = new Recent<WrongKey>(clock);
  return {
    recent,
    add: ({ writeKey: key, address, client }) =>
      recent.add({
        keyPrefix: key?.slice(0, Math.min(PREFIX_LENGTH, Math.ceil(key.length / 3))),
        address: clientGroup(address),
        client: client?.slice(0, CLIENT_LENGTH),
      }),
  };
}
