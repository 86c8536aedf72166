import type { MessagePort } from "node:worker_threads";
import type { Region } from "@sluice/protocol";
import type { SharedAmounts } from "../http/body/amounts-by-address.js";
import type { HttpCounts } from "../http/http-metrics.js";
import type { HttpLimits } from "../http/limits.js";
import type { PlanRefusal } from "../ingest/admit-request.js";
import type { IngestCounts, WrongKeys } from "../ingest/ingest-metrics.js";
import type { LiveEvent } from "../process/telemetry/live-events.js";
import type { FinishedSpan } from "../process/telemetry/tracing.js";
import type { RouteHead } from "./remote-routes.js";

/** What a thread needs to take requests. Its ports and memory are the main thread's, too. */
export interface IngestThreadData {
  /** The main thread calls `IngestThreadApi` on it. */
  readonly port: MessagePort;
  /** Carries requests that the main thread answers. */
  readonly passedOn: MessagePort;
  readonly shared: SharedState;
  /** Its place in what is shared. The main thread has 0. */
  readonly thread: number;
  readonly isWatched: boolean;
  readonly options: IngestThreadOptions;
}

export interface IngestThreadOptions {
  readonly httpLimits: Partial<HttpLimits>;
  readonly region: Region | undefined;
  readonly regionUrls: Readonly<Partial<Record<Region, string>>>;
  readonly publicUrl: string | undefined;
  readonly messagesPerSecond: number | "auto" | undefined;
  /** The share of messages without a trace that get one; see `Tracing.share`. Undefined: no spans are recorded. */
  readonly tracesShare: number | undefined;
}

/** What holds for the process: all threads count in it. */
export interface SharedState {
  /** Memory of requests by client address, and the part of it that showed no valid key. */
  readonly buffered: SharedAmounts;
  readonly keyless: SharedAmounts;
  /** Pipelined requests by client address. */
  readonly inTurn: SharedAmounts;
  /** What sources have taken of their rate limits. */
  readonly buckets: SharedArrayBuffer;
}

/** What the main thread calls. */
export interface IngestThreadApi {
  /** Resolves when it listens. `routes`: those of the address; the main thread answers those that are not ingestion. */
  listen(
    address: { readonly host: string; readonly port: number },
    routes: readonly RouteHead[],
  ): Promise<void>;
  watch(isWatched: boolean): void;
  /** What was counted since the last time. */
  counts(): ThreadCounts;
  /** Stops listening, and lets pending requests finish for at most `graceMs`. */
  closeServer(graceMs: number): Promise<void>;
}

export interface ThreadCounts {
  readonly http: HttpCounts;
  readonly ingest: IngestCounts;
  readonly wrongKeys: readonly Parameters<WrongKeys["add"]>[0][];
  readonly planRefusals: readonly PlanRefusal[];
}

/** What a thread tells by itself. */
export type IngestNotice =
  | { readonly kind: "ready" }
  | { readonly kind: "counts"; readonly counts: ThreadCounts }
  | { readonly kind: "live"; readonly event: LiveEvent }
  | { readonly kind: "span"; readonly span: FinishedSpan };
