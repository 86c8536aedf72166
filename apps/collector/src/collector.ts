import { join } from "node:path";
import { AUDIENCE_SOURCE_ID, AudienceEngine, startAudiences, startEngineThread } from "@sluice/audiences";
import type { Store } from "@sluice/event-log";
import {
  DOCUMENT_KINDS,
  idDigest,
  idDigestKey,
  memoryProfileStore,
  openSqliteStore,
} from "@sluice/event-log";
import { DEFAULT_REGION, type Region } from "@sluice/protocol";
import { type Clock, systemClock } from "@sluice/resilience";
import { ratesEndpoint } from "./admin/collector/collector-endpoints.js";
import { dashboardRoutes } from "./admin/dashboard/dashboard-routes.js";
import { findDashboard } from "./admin/dashboard/find-dashboard.js";
import { definitionEndpoints } from "./admin/definitions/definition-endpoints.js";
import { deletionEndpoints } from "./admin/deletions/deletion-endpoints.js";
import { type FirstRun, firstRun, firstToken } from "./admin/first-run.js";
import { adminRoutes } from "./admin/routes.js";
import type { CollectorOptions } from "./collector-options.js";
import { startDeletions } from "./deletions/start-deletions.js";
import { startDelivery } from "./delivery/start-delivery.js";
import { createCatalog } from "./destinations/catalog.js";
import { hasSealed, openSecretKey, secretBox } from "./destinations/secret-box.js";
import type { DestinationDocument } from "./documents/documents.js";
import { newId } from "./documents/new-id.js";
import { openSuppressions, type Suppressions } from "./documents/suppressions.js";
import { type BufferBudget, bufferBudget } from "./http/body/buffer-budget.js";
import { healthRoutes, metricsRoute } from "./http/health-routes.js";
import { HTTP_LIMITS } from "./http/limits.js";
import { checkHosts } from "./http/routing/host-check.js";
import type { Route } from "./http/routing/route.js";
import { startServer } from "./http/server.js";
import { ingestRoutes } from "./ingest/routes.js";
import { openSourceDirectory, type SourceDirectory } from "./ingest/sources/source-directory.js";
import { makeDataFolder, makeOwnerOnly } from "./process/data-folder.js";
import { defined } from "./process/defined.js";
import { announceRetention, resolveRetention } from "./process/retention-defaults.js";
import { type Stages, stagesToClose } from "./process/stages.js";
import { type LiveEvents, liveEvents } from "./process/telemetry/live-events.js";
import type { Logger } from "./process/telemetry/logger.js";
import { createMetrics, type Metrics } from "./process/telemetry/metrics.js";
import { type RateHistory, startRateHistory } from "./process/telemetry/rate-history.js";
import { storeMetrics } from "./process/telemetry/store-metrics.js";
import { VERSION } from "./process/version.js";
import { egressPolicy } from "./sender/egress-policy.js";
import { openTokens, type Tokens } from "./tokens/tokens.js";

export interface Collector {
  readonly url: string;
  readonly port: number;
  /** In `dev` mode: the first source and admin token. */
  readonly firstRun: FirstRun | undefined;
  /** The region it runs as; undefined if no region is configured. */
  readonly region: Region | undefined;
  readonly store: Store;
  /** Stops accepting requests, lets pending work finish for at most `graceMs`, and closes all stages in reverse order. */
  close(graceMs: number): Promise<void>;
}

/** Builds all stages, connects them, and listens. If one cannot start, it closes the others and rejects. */
export async function startCollector(options: CollectorOptions): Promise<Collector> {
  const stages = stagesToClose();
  try {
    return await startStages(options, stages);
  } catch (error) {
    await stages.close(0).catch((closing: unknown) => {
      options.logger.error("failed to close a stage", { error: closing });
    });
    throw error;
  }
}

/** The parts that stages share. */
interface Shared {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly live: LiveEvents;
  readonly budget: BufferBudget;
  readonly region: Region | undefined;
  readonly startedAtMs: number;
}

async function startStages(options: CollectorOptions, stages: Stages): Promise<Collector> {
  const clock = options.clock ?? systemClock;
  const shared: Shared = {
    clock,
    logger: options.logger,
    metrics: createMetrics({ withProcess: true }),
    live: liveEvents(),
    budget: bufferBudget(options.httpLimits?.maxBufferedBytes ?? HTTP_LIMITS.maxBufferedBytes),
    region: options.region ?? defaultRegion(options.regionUrls),
    startedAtMs: clock.now(),
  };
  const { keep } = stages;
  const store = keep(await openStore(options, shared), (it) => it.close());
  storeMetrics(store, shared.metrics);
  const key = await openKey(options, store);
  const tokens = keep(
    await openTokens({ config: store.config, clock, ...defined({ configured: options.adminToken }) }),
    (it) => it.close(),
  );
  const first = await makeFirstAccess(options, shared, store, tokens);
  const processing = await startProcessing({ options, shared, stages, store, key });
  const sources = keep(await openSourceDirectory(store.config), (it) => it.close());
  const rates = keep(await startRateHistory(shared.metrics, clock, store.config), (it) => it.close());
  const server = keep(
    await startServer({
      ...shared,
      host: options.host,
      port: options.port,
      logger: shared.logger.with({ stage: "http" }),
      ...defined({ limits: options.httpLimits }),
      routes: allRoutes(options, { ...shared, ...processing, store, tokens, sources, rates }),
    }),
    (it, leftMs) => it.close(leftMs),
  );
  return {
    url: server.url,
    port: server.port,
    firstRun: first,
    region: shared.region,
    store,
    close: (graceMs) => stages.close(graceMs),
  };
}

/** The store that was given, or the embedded one in the data folder. */
async function openStore(options: CollectorOptions, { clock, logger }: Shared): Promise<Store> {
  const { dataDirectory } = options;
  await makeDataFolder(dataDirectory);
  const corrected = await makeOwnerOnly(dataDirectory);
  if (corrected.length > 0)
    logger.warn("removed other users' access to files in the data folder", {
      folder: dataDirectory,
      files: corrected,
    });
  const retention =
    options.retention === undefined ? {} : await resolveRetention(options.retention, dataDirectory);
  if (options.store !== undefined) return options.store;
  announceRetention(logger, retention);
  return openSqliteStore({
    directory: dataDirectory,
    clock,
    retention,
    onDamage: (what) => logger.error("stored data is damaged", { what }),
    ...defined({ dedupeWindowMs: options.dedupeWindowMs }),
  });
}

/** The key that seals the secrets of destinations, and keys the digests of user ids. */
async function openKey(
  { secretKey, dataDirectory, logger }: CollectorOptions,
  store: Store,
): Promise<Uint8Array> {
  const { key, orphaned } = await openSecretKey({
    fromEnvironment: secretKey,
    file: join(dataDirectory, "secret.key"),
    sealedFor: async () =>
      (await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination))
        .filter(({ value }) => hasSealed(value))
        .map(({ id }) => id),
  });
  if (orphaned.length > 0)
    logger.error("the secret key file was missing: enter the secrets of these destinations again", {
      destinations: orphaned,
    });
  return key;
}

/** In `dev` mode a first source and token; in production a first admin token if there is none. */
async function makeFirstAccess(
  { mode, dataDirectory }: CollectorOptions,
  { clock, region, logger }: Shared,
  store: Store,
  tokens: Tokens,
): Promise<FirstRun | undefined> {
  if (mode === "dev")
    return firstRun({ config: store.config, tokens, clock, region, directory: dataDirectory });
  const file = await firstToken(tokens, dataDirectory);
  if (file !== undefined) logger.info("created a first admin token", { file });
  return undefined;
}

interface ProcessingParts {
  readonly options: CollectorOptions;
  readonly shared: Shared;
  readonly stages: Stages;
  readonly store: Store;
  readonly key: Uint8Array;
}

/** Starts the stages that work on stored messages: delivery, audiences, deletions. */
async function startProcessing({ options, shared, stages: { keep }, store, key }: ProcessingParts) {
  const { clock, logger, metrics, live } = shared;
  const catalog = createCatalog({
    clock,
    secrets: secretBox(key),
    egress: egressPolicy({ allow: options.allowTargets ?? [] }),
    exportsFolder: join(options.dataDirectory, "exports"),
    ...defined({ resolve: options.resolve, openEndpoint: options.openEndpoint }),
  });
  const digestKey = idDigestKey(key);
  const digest = idDigest(digestKey);
  const suppressions = keep(await openSuppressions({ store, clock, digest }), (it) => it.close());
  warnOfUnrecognized(suppressions, logger);
  const delivery = keep(
    await startDelivery({
      store,
      suppressions,
      catalog,
      clock,
      logger: logger.with({ stage: "delivery" }),
      metrics,
      live,
      ...defined({ policy: options.deliveryPolicy }),
    }),
    (it, leftMs) => it.close(leftMs),
  );
  const audienceLogger = logger.with({ stage: "audiences" });
  const audiences = keep(
    await startAudiences({
      store,
      // A store that was given has its data elsewhere, or only in memory. Profiles are then kept in memory too.
      engine:
        options.store === undefined
          ? startEngineThread({ directory: options.dataDirectory }, { logger: audienceLogger, metrics })
          : new AudienceEngine(memoryProfileStore()),
      clock,
      logger: audienceLogger,
      metrics,
      digestKey,
    }),
    (it) => it.close(),
  );
  const deletions = keep(
    await startDeletions({
      store,
      profiles: audiences,
      suppressions,
      catalog,
      digest,
      clock,
      builtInSourceIds: [AUDIENCE_SOURCE_ID],
      newId: () => newId("del"),
      logger: logger.with({ stage: "deletions" }),
    }),
    (it) => it.close(),
  );
  return { catalog, suppressions, delivery, audiences, deletions };
}

function warnOfUnrecognized(suppressions: Suppressions, logger: Logger): void {
  const unrecognized = suppressions.unrecognized();
  if (unrecognized > 0)
    logger.error(
      "suppressions were stored with another secret key, so messages of these users are accepted. Start with the former key, or suppress the users again",
      { suppressions: unrecognized },
    );
}

type RouteParts = Shared &
  Awaited<ReturnType<typeof startProcessing>> & {
    readonly store: Store;
    readonly tokens: Tokens;
    readonly sources: SourceDirectory;
    readonly rates: RateHistory;
  };

function allRoutes(options: CollectorOptions, parts: RouteParts): Route[] {
  const { store, logger, metrics, audiences, deletions, suppressions, rates } = parts;
  const dashboard = options.dashboardDirectory ?? findDashboard();
  const guarded = [
    metricsRoute(metrics),
    ...adminRoutes({
      ...parts,
      logger: logger.with({ stage: "admin" }),
      mode: options.mode,
      version: VERSION,
      endpoints: [
        ratesEndpoint(rates),
        ...definitionEndpoints(audiences),
        ...deletionEndpoints(deletions, suppressions),
      ],
    }),
    ...(dashboard === undefined ? [] : dashboardRoutes(dashboard)),
  ];
  return [
    ...healthRoutes({ health: () => store.health(), budget: parts.budget, metrics }),
    ...ingestRoutes({
      ...parts,
      logger: logger.with({ stage: "ingest" }),
      regionUrls: options.regionUrls ?? {},
      limits: defined({ messagesPerSecond: options.messagesPerSecond }),
    }),
    ...checkHosts(guarded, { listensOn: options.host, allowedHosts: options.allowedHosts ?? [] }),
  ];
}

/** A collector that knows URLs of regions has regions, so it runs as one of them. */
function defaultRegion(regionUrls: CollectorOptions["regionUrls"] = {}): Region | undefined {
  return Object.values(regionUrls).some((url) => url !== undefined) ? DEFAULT_REGION : undefined;
}
