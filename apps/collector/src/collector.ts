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
import { audienceEndpoints } from "./admin/audiences/endpoints.js";
import { collectorRates } from "./admin/collector/rates.js";
import { dashboardRoutes } from "./admin/dashboard/dashboard-routes.js";
import { findDashboard } from "./admin/dashboard/find-dashboard.js";
import { deletionEndpoints } from "./admin/deletions/endpoints.js";
import { type FirstRun, firstRun, firstToken } from "./admin/first-run.js";
import { adminRoutes } from "./admin/routes.js";
import { startDeletions } from "./deletions/start-deletions.js";
import type { DeliveryPolicy } from "./delivery/delivery-policy.js";
import { startDelivery } from "./delivery/start-delivery.js";
import { createCatalog } from "./destinations/catalog.js";
import { hasSealed, openSecretKey, secretBox } from "./destinations/secret-box.js";
import type { DestinationDocument } from "./documents/documents.js";
import { newId } from "./documents/new-id.js";
import { openSuppressions } from "./documents/suppressions.js";
import { bufferBudget } from "./http/buffer-budget.js";
import { healthRoutes, metricsRoute } from "./http/health-routes.js";
import { checkHosts } from "./http/host-check.js";
import { HTTP_LIMITS, type HttpLimits } from "./http/limits.js";
import { startServer } from "./http/server.js";
import { ingestRoutes } from "./ingest/routes.js";
import { openSourceDirectory } from "./ingest/source-directory.js";
import type { CollectorConfig } from "./process/config.js";
import { makeDataFolder, makeOwnerOnly } from "./process/data-folder.js";
import { liveEvents } from "./process/live-events.js";
import type { Logger } from "./process/logger.js";
import { createMetrics } from "./process/metrics.js";
import { startRateHistory } from "./process/rate-history.js";
import { announceRetention, resolveRetention } from "./process/retention-defaults.js";
import { type Stages, stagesToClose } from "./process/stages.js";
import { storeMetrics } from "./process/store-metrics.js";
import { VERSION } from "./process/version.js";
import type { ResolveHost } from "./sender/checked-connector.js";
import { egressPolicy } from "./sender/egress-policy.js";
import type { OpenEndpoint } from "./sender/endpoint.js";
import { openTokens } from "./tokens/tokens.js";

export interface CollectorOptions {
  /** `dev` makes a first source and an admin token, kept readable in the data folder, and allows `POST /api/v1/reset`. */
  readonly mode: "dev" | "production";
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The folder in which everything is kept. */
  readonly dataDirectory: string;
  readonly logger: Logger;
  /** Default: the embedded store in the data folder. */
  readonly store?: Store;
  readonly clock?: Clock;
  /** A token of the control API that the operator set. */
  readonly adminToken?: string;
  /** The key that destinations' secrets are sealed with, 32 bytes in hex or base64. Default: made and kept in the data folder. */
  readonly secretKey?: string;
  /** Default: `oregon` where `regionUrls` names one, else none: nothing names a region then. */
  readonly region?: Region;
  readonly regionUrls?: Readonly<Partial<Record<Region, string>>>;
  /** Targets of webhooks beside public addresses: addresses, blocks, host names. */
  readonly allowTargets?: readonly string[];
  readonly dedupeWindowMs?: number;
  /** How long and how much is kept, as in the configuration; `none` for both where it is absent. Announced in the log. */
  readonly retention?: Pick<CollectorConfig, "retentionMs" | "retentionBytes">;
  /** Messages a second of each source that has no limit of its own; `auto`: 10,000 of web and mobile sources. Default: no limit. */
  readonly messagesPerSecond?: number | "auto";
  /** Names under which dashboard, control API and metrics answer, beside addresses and `localhost`; `*`: all. Default: those only on loopback, all elsewhere. */
  readonly allowedHosts?: readonly string[];
  readonly httpLimits?: Partial<HttpLimits>;
  readonly deliveryPolicy?: Partial<DeliveryPolicy>;
  /** The folder of the built dashboard. Default: the one that comes with the collector, where it was built. */
  readonly dashboardDirectory?: string;
  /** How names are resolved for webhooks. Default: the machine's resolver. */
  readonly resolve?: ResolveHost;
  /** What webhooks are sent through. Default: the network. */
  readonly openEndpoint?: OpenEndpoint;
}

export interface Collector {
  readonly url: string;
  readonly port: number;
  /** In `dev` mode: what a developer needs to begin. */
  readonly firstRun: FirstRun | undefined;
  /** The region it runs as; undefined where no region is configured. */
  readonly region: Region | undefined;
  readonly store: Store;
  /** Stops taking requests, lets what is under way end for at most `graceMs`, and closes every stage in reverse. */
  close(graceMs: number): Promise<void>;
}

/** Builds every stage, connects them, and listens. Rejects, with everything closed again, when one of them cannot start. */
export async function startCollector(options: CollectorOptions): Promise<Collector> {
  const stages = stagesToClose();
  try {
    return await startStages(options, stages);
  } catch (error) {
    await stages.close(0).catch((closing: unknown) => {
      options.logger.error("a stage failed to close", { error: closing });
    });
    throw error;
  }
}

async function startStages(options: CollectorOptions, stages: Stages): Promise<Collector> {
  const { logger, dataDirectory, mode } = options;
  const clock = options.clock ?? systemClock;
  const region = options.region ?? defaultRegion(options.regionUrls);
  const metrics = createMetrics({ withProcess: true });
  const budget = bufferBudget(options.httpLimits?.maxBufferedBytes ?? HTTP_LIMITS.maxBufferedBytes);
  const live = liveEvents();
  const { keep } = stages;

  await makeDataFolder(dataDirectory);
  const mended = await makeOwnerOnly(dataDirectory);
  if (mended.length > 0)
    logger.warn("other users of this machine could read files of the data folder; they no longer can", {
      folder: dataDirectory,
      files: mended,
    });
  const retention =
    options.retention === undefined ? {} : await resolveRetention(options.retention, dataDirectory);
  if (options.store === undefined) announceRetention(logger, retention);
  const store = keep(
    options.store ??
      (await openSqliteStore({
        directory: dataDirectory,
        clock,
        ...(options.dedupeWindowMs === undefined ? {} : { dedupeWindowMs: options.dedupeWindowMs }),
        retention,
        onDamage: (what) => logger.error("stored data is damaged", { what }),
      })),
    (it) => it.close(),
  );
  storeMetrics(store, metrics);
  const { key, orphaned } = await openSecretKey({
    fromEnvironment: options.secretKey,
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
  const catalog = createCatalog({
    clock,
    secrets: secretBox(key),
    egress: egressPolicy({ allow: options.allowTargets ?? [] }),
    exportsFolder: join(dataDirectory, "exports"),
    ...(options.resolve === undefined ? {} : { resolve: options.resolve }),
    ...(options.openEndpoint === undefined ? {} : { openEndpoint: options.openEndpoint }),
  });
  const tokens = keep(
    await openTokens({
      config: store.config,
      clock,
      ...(options.adminToken === undefined ? {} : { configured: options.adminToken }),
    }),
    (it) => it.close(),
  );
  const beginnings =
    mode === "dev"
      ? await firstRun({ config: store.config, tokens, clock, region, directory: dataDirectory })
      : undefined;
  if (mode === "production") {
    const file = await firstToken(tokens, dataDirectory);
    if (file !== undefined) logger.info("made a first admin token", { file });
  }
  const digestKey = idDigestKey(key);
  const digest = idDigest(digestKey);
  const suppressions = keep(await openSuppressions({ store, clock, digest }), (it) => it.close());
  const unrecognized = suppressions.unrecognized();
  if (unrecognized > 0)
    logger.error(
      "suppressions were stored with another secret key: messages of these users are not refused. Start with the former key, or suppress them again",
      { suppressions: unrecognized },
    );
  const delivery = keep(
    await startDelivery({
      store,
      suppressions,
      catalog,
      clock,
      logger: logger.with({ stage: "delivery" }),
      metrics,
      live,
      ...(options.deliveryPolicy === undefined ? {} : { policy: options.deliveryPolicy }),
    }),
    (it, leftMs) => it.close(leftMs),
  );
  const audiences = keep(
    await startAudiences({
      store,
      // A store that was given keeps its data elsewhere, or nowhere: so do the profiles.
      engine:
        options.store === undefined
          ? startEngineThread(
              { directory: dataDirectory },
              { logger: logger.with({ stage: "audiences" }), metrics },
            )
          : new AudienceEngine(memoryProfileStore()),
      clock,
      logger: logger.with({ stage: "audiences" }),
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
      digest,
      clock,
      builtInSourceIds: [AUDIENCE_SOURCE_ID],
      newId: () => newId("del"),
      logger: logger.with({ stage: "deletions" }),
    }),
    (it) => it.close(),
  );
  const sources = keep(await openSourceDirectory(store.config), (it) => it.close());
  const rates = keep(await startRateHistory(metrics, clock, store.config), (it) => it.close());

  const dashboard = options.dashboardDirectory ?? findDashboard();
  const hosts = { listensOn: options.host, allowedHosts: options.allowedHosts ?? [] };
  const server = keep(
    await startServer({
      host: options.host,
      port: options.port,
      clock,
      budget,
      logger: logger.with({ stage: "http" }),
      metrics,
      ...(options.httpLimits === undefined ? {} : { limits: options.httpLimits }),
      routes: [
        ...healthRoutes({ health: () => store.health(), budget, metrics }),
        ...checkHosts([metricsRoute(metrics)], hosts),
        ...ingestRoutes({
          store,
          sources,
          suppressions,
          clock,
          logger: logger.with({ stage: "ingest" }),
          metrics,
          live,
          region,
          regionUrls: options.regionUrls ?? {},
          limits:
            options.messagesPerSecond === undefined ? {} : { messagesPerSecond: options.messagesPerSecond },
        }),
        ...checkHosts(
          adminRoutes({
            store,
            catalog,
            delivery,
            audiences,
            tokens,
            live,
            clock,
            logger: logger.with({ stage: "admin" }),
            region,
            mode,
            startedAtMs: clock.now(),
            version: VERSION,
            endpoints: [
              collectorRates(rates),
              ...audienceEndpoints(audiences),
              ...deletionEndpoints(deletions, suppressions),
            ],
          }),
          hosts,
        ),
        ...(dashboard === undefined ? [] : checkHosts(dashboardRoutes(dashboard), hosts)),
      ],
    }),
    (it, leftMs) => it.close(leftMs),
  );

  return {
    url: server.url,
    port: server.port,
    firstRun: beginnings,
    region,
    store,
    close: (graceMs) => stages.close(graceMs),
  };
}

/** Who tells where regions are has regions, and this collector is one of them. */
function defaultRegion(regionUrls: CollectorOptions["regionUrls"] = {}): Region | undefined {
  return Object.values(regionUrls).some((url) => url !== undefined) ? DEFAULT_REGION : undefined;
}
