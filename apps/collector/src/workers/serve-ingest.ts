import { type Clock, systemClock } from "@sluice/resilience";
import { serve } from "@sluice/resilience/node";
import type { CompanionParts } from "../delivery/workers/serve-delivery.js";
import { amountsOfProcess } from "../http/body/amounts-by-address.js";
import { bufferBudget } from "../http/body/buffer-budget.js";
import { httpTally } from "../http/http-metrics.js";
import { HTTP_LIMITS } from "../http/limits.js";
import type { Route } from "../http/routing.js";
import { type HttpServer, startServer } from "../http/server.js";
import type { PlanRefusal } from "../ingest/admit-request.js";
import type { WrongKeys } from "../ingest/ingest-metrics.js";
import { ingestTally } from "../ingest/ingest-metrics.js";
import { ingestRoutes } from "../ingest/routes.js";
import { bucketsOfProcess } from "../ingest/sources/rate-limit.js";
import { openSourceDirectory } from "../ingest/sources/source-directory.js";
import { tracingOfThread } from "../process/telemetry/tracing.js";
import type { IngestNotice, IngestThreadApi, IngestThreadData, ThreadCounts } from "./ingest-thread.js";
import { type RouteHead, remoteRoutes } from "./remote-routes.js";

/** What was counted is told at least this often, in milliseconds; sooner if the main thread asks. */
const TELL_EVERY_MS = 50;

type WrongKeyRequest = Parameters<WrongKeys["add"]>[0];

/** Takes requests in this thread, for the main thread at the other end of the port. */
export async function serveIngest(
  data: IngestThreadData,
  parts: CompanionParts,
  given: { readonly clock?: Clock; readonly startServer?: typeof startServer } = {},
): Promise<void> {
  const { port, passedOn, shared, thread, options } = data;
  const { store, suppressions, logger } = parts;
  const { clock = systemClock, startServer: start = startServer } = given;
  const all = { ...HTTP_LIMITS, ...options.httpLimits };
  // The system deals connections out evenly, so that each thread can have its part of the places.
  const limits = { ...all, maxConnections: Math.ceil(all.maxConnections / (shared.inTurn.threads - 1)) };
  const tally = threadTally(clock, () => server.notify({ kind: "counts", counts: tally.take() }));
  const live = {
    watched: data.isWatched,
    publish: (event: Extract<IngestNotice, { kind: "live" }>["event"]) =>
      server.notify({ kind: "live", event }),
  };
  const sources = await openSourceDirectory(store.config);
  const own = ingestRoutes({
    ...{ store, sources, suppressions, clock, live },
    metrics: tally.ingest,
    logger: logger.with({ component: "ingest" }),
    mayHandBack: true,
    buckets: bucketsOfProcess(shared.buckets),
    wrongKeys: tally.wrongKeys,
    onPlanRefusal: tally.onPlanRefusal,
    tracing: tracingOfThread(options.tracesShare, (span) => server.notify({ kind: "span", span })),
    region: options.region,
    regionUrls: options.regionUrls,
    publicUrl: options.publicUrl,
    limits: options.messagesPerSecond === undefined ? {} : { messagesPerSecond: options.messagesPerSecond },
  });
  const budget = bufferBudget(limits.maxBufferedBytes, clock, {
    all: amountsOfProcess(shared.buffered, thread),
    keyless: amountsOfProcess(shared.keyless, thread),
  });
  let listening: HttpServer | undefined;
  const api: IngestThreadApi = {
    async listen({ host, port: at }, heads) {
      listening = await start({
        ...{ host, port: at, isShared: true, clock, limits, budget },
        inTurn: amountsOfProcess(shared.inTurn, thread),
        routes: routesOf(heads, own, passedOn),
        logger: logger.with({ component: "http" }),
        httpMetrics: tally.http,
      });
    },
    watch(isWatched) {
      live.watched = isWatched;
    },
    counts: () => tally.take(),
    async closeServer(graceMs) {
      await listening?.close(graceMs);
    },
  };
  const server = serve<IngestThreadApi, { message: string }, IngestNotice>(port, api);
  server.notify({ kind: "ready" });
}

/** The routes of an address: ingestion here, the others in the main thread. */
function routesOf(
  heads: readonly RouteHead[],
  own: readonly Route[],
  passedOn: IngestThreadData["passedOn"],
): Route[] {
  const byPath = new Map(own.map((route) => [route.path, route]));
  const elsewhere = remoteRoutes(
    passedOn,
    heads.filter(({ path }) => !byPath.has(path)),
  );
  for (const route of elsewhere) byPath.set(route.path, route);
  return heads.map(({ path }) => byPath.get(path) as Route);
}

/** Shown of a key and of a client is less. */
const TOLD_LENGTH = 200;

/** Counts everything for the main thread. `tell` is called soon after something was counted. */
function threadTally(clock: Clock, tell: () => void) {
  let cancel: (() => void) | undefined;
  const changed = (): void => {
    cancel ??= clock.after(TELL_EVERY_MS, tell);
  };
  const http = httpTally(changed);
  const ingest = ingestTally(clock, changed);
  let wrongKeys: WrongKeyRequest[] = [];
  let planRefusals: PlanRefusal[] = [];
  return {
    http,
    ingest,
    wrongKeys: {
      add({ writeKey, address, client }: WrongKeyRequest) {
        wrongKeys.push({
          writeKey: writeKey?.slice(0, TOLD_LENGTH),
          address: address.slice(0, TOLD_LENGTH),
          client: client?.slice(0, TOLD_LENGTH),
        });
        changed();
      },
    },
    onPlanRefusal(refusal: PlanRefusal) {
      planRefusals.push(refusal);
      changed();
    },
    take(): ThreadCounts {
      cancel?.();
      cancel = undefined;
      const counts = { http: http.take(), ingest: ingest.take(), wrongKeys, planRefusals };
      wrongKeys = [];
      planRefusals = [];
      return counts;
    },
  };
}
