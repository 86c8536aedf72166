import type { Identity } from "@sluice/event-log";
import {
  BEFORE_FIRST,
  DOCUMENT_KINDS,
  decodeBatch,
  type MemoryStore,
  openMemoryStore,
  type Store,
  type StoredMessage,
} from "@sluice/event-log";
import type { Region } from "@sluice/protocol";
import { type Clock, systemClock } from "@sluice/resilience";
import type { SourceDocument } from "../../src/documents/documents.js";
import { bufferBudget } from "../../src/http/body/buffer-budget.js";
import { healthRoutes, metricsRoute } from "../../src/http/health-routes.js";
import { HTTP_LIMITS, type HttpLimits } from "../../src/http/limits.js";
import { startServer } from "../../src/http/server.js";
import { ingestMetrics } from "../../src/ingest/ingest-metrics.js";
import { ingestRoutes } from "../../src/ingest/routes.js";
import { openSourceDirectory } from "../../src/ingest/sources/source-directory.js";
import { type LiveEvents, liveEvents } from "../../src/process/telemetry/live-events.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics, type Metrics } from "../../src/process/telemetry/metrics.js";
import { type Answer, postTo } from "./post-to.js";

export const WRITE_KEY = "wk_test_0123456789abcdef";
export const SOURCE_ID = "src_test";

export interface IngestServer<S extends Store = MemoryStore> {
  readonly url: string;
  readonly port: number;
  readonly store: S;
  readonly live: LiveEvents;
  readonly metrics: Metrics;
  /** Every line that was logged. */
  readonly logged: string[];
  /** Sends JSON, or raw bytes, by default with the write key as Basic user. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Everything in the log, decoded, in order. */
  messages(): Promise<StoredMessage[]>;
  putSource(id: string, source?: Partial<SourceDocument>): Promise<void>;
  /** Closes the HTTP server alone. */
  closeServer(graceMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface IngestServerOptions<S extends Store> {
  readonly store?: S;
  readonly clock?: Clock;
  readonly limits?: Partial<HttpLimits>;
  readonly readDisk?: () => Promise<{ readonly freeBytes: number; readonly totalBytes: number }>;
  readonly region?: Region;
  readonly regionUrls?: Readonly<Partial<Record<Region, string>>>;
  readonly messagesPerSecond?: number | "auto";
  /** Users of whom nothing may be kept. */
  readonly suppressed?: readonly Identity[];
}

export const basic = (key: string): string => `Basic ${Buffer.from(`${key}:`).toString("base64")}`;

/** The ingestion API with one source on a loopback port, by default over the memory store. */
export async function startIngestServer<S extends Store = MemoryStore>(
  options: IngestServerOptions<S> = {},
): Promise<IngestServer<S>> {
  const { clock = systemClock, region = "oregon", regionUrls = {} } = options;
  const store = options.store ?? (openMemoryStore({ clock }) as Store as S);
  const live = liveEvents();
  const metrics = createMetrics();
  const logged: string[] = [];
  const logger = createLogger({ level: "debug", write: (line) => logged.push(line) });
  const putSource = async (id: string, source: Partial<SourceDocument> = {}): Promise<void> => {
    await store.config.put(DOCUMENT_KINDS.source, id, {
      name: id,
      kind: "server",
      createdAt: "2026-11-21T00:00:00.000Z",
      writeKeys: [{ key: `wk_of_${id}`, createdAt: "2026-11-21T00:00:00.000Z" }],
      blockedEvents: [],
      ...source,
    } satisfies SourceDocument);
  };
  await putSource(SOURCE_ID, { writeKeys: [{ key: WRITE_KEY, createdAt: "2026-11-21T00:00:00.000Z" }] });
  const sources = await openSourceDirectory(store.config);
  const budget = bufferBudget(options.limits?.maxBufferedBytes ?? HTTP_LIMITS.maxBufferedBytes, systemClock);
  const server = await startServer({
    host: "127.0.0.1",
    port: 0,
    clock: systemClock,
    logger,
    metrics,
    budget,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    routes: [
      ...ingestRoutes({
        store,
        sources,
        clock,
        logger,
        metrics: ingestMetrics(metrics, clock, { logger, health: () => store.health() }),
        live,
        region,
        regionUrls,
        suppressions: {
          isSuppressed: (identity) =>
            identity !== undefined && (options.suppressed?.includes(identity) ?? false),
        },
        ...(options.messagesPerSecond === undefined
          ? {}
          : { limits: { messagesPerSecond: options.messagesPerSecond } }),
      }),
      ...healthRoutes({
        health: () => store.health(),
        ...{ budget, metrics, clock },
        ...(options.readDisk === undefined ? {} : { readDisk: options.readDisk }),
      }),
      metricsRoute(metrics),
    ],
  });
  let closed: Promise<void> | undefined;
  return {
    url: server.url,
    port: server.port,
    store,
    live,
    metrics,
    logged,
    putSource,
    post: (path, body, headers = { authorization: basic(WRITE_KEY) }) =>
      postTo(server.url + path, body, headers),
    async messages() {
      const batches = await store.log.read(BEFORE_FIRST, { messages: 1e9, bytes: 1e12 });
      return batches.flatMap((batch) => decodeBatch(batch));
    },
    closeServer: (graceMs) => {
      closed ??= server.close(graceMs);
      return closed;
    },
    async close() {
      closed ??= server.close(1_000);
      await closed;
      sources.close();
      await store.close();
    },
  };
}
