import { existsSync } from "node:fs";
import { join } from "node:path";
import { AudienceEngine, type Audiences, startAudiences, startEngineThread } from "@sluice/audiences";
import type { LimitsView } from "@sluice/control-api";
import type { RetentionOptions, Store } from "@sluice/event-log";
import {
  DOCUMENT_KINDS,
  idDigest,
  idDigestKey,
  memoryProfileStore,
  openSqliteStore,
} from "@sluice/event-log";
import { DEFAULT_REGION, type Region } from "@sluice/protocol";
import { type Clock, systemClock } from "@sluice/resilience";
import type { RefusedJoinsOf } from "./admin/collector/problems-endpoint.js";
import { type FirstRun, firstRun, firstToken } from "./admin/first-run.js";
import { operatorRoutes } from "./admin/routes.js";
import { type Backups, startBackups } from "./backups/start-backups.js";
import type { CollectorOptions } from "./collector-options.js";
import { startDeletions } from "./deletions/start-deletions.js";
import { startDelivery } from "./delivery/start-delivery.js";
import { deliveryThreads, furtherThreads, tracesShareOf } from "./delivery/workers/threads.js";
import { BUILT_IN_TYPES, type Catalog, type CatalogDeps, createCatalog } from "./destinations/catalog.js";
import { loadPackages } from "./destinations/defined/load-packages.js";
import { hasSealed, openSecretKey, secretBox } from "./destinations/secret-box.js";
import { newId } from "./documents/new-id.js";
import { openSuppressions, type Suppressions } from "./documents/suppressions.js";
import { type EventCatalog, startEventCatalog } from "./events/event-catalog.js";
import { Counters } from "./history/counters.js";
import { startSizeHistory } from "./history/size-history.js";
import { type BufferBudget, bufferBudget } from "./http/body/buffer-budget.js";
import { healthRoutes } from "./http/health-routes.js";
import { type HttpMetricsOfProcess, httpMetrics } from "./http/http-metrics.js";
import { HTTP_LIMITS } from "./http/limits.js";
import { type ListenersOptions, startListeners } from "./http/listeners.js";
import type { Route } from "./http/routing.js";
import { checkHosts, isLoopback } from "./http/routing.js";
import { checkPort, type StartServer, startServer } from "./http/server.js";
import { diskSpace, lowBelowBytes } from "./incidents/disk-low.js";
import { type Incidents, startIncidents } from "./incidents/start-incidents.js";
import {
  type IngestMetricsOfProcess,
  ingestMetrics,
  type WrongKeys,
  wrongKeys,
} from "./ingest/ingest-metrics.js";
import { type IngestRoutesOptions, ingestRoutes } from "./ingest/routes.js";
import { rateOf } from "./ingest/sources/rate-limit.js";
import { openSourceDirectory, type SourceDirectory } from "./ingest/sources/source-directory.js";
import { startOperations } from "./operations/start-operations.js";
import { announceRetention, resolveRetention } from "./process/config.js";
import { makeDataFolder, makeOwnerOnly, refuseClusterFolder } from "./process/data-folder.js";
import { defined } from "./process/defined.js";
import { type Stages, startWithStages } from "./process/stages.js";
import { type DeliveryCounts, deliveryCounts } from "./process/telemetry/delivery-counts.js";
import { type LiveEvents, liveEvents } from "./process/telemetry/live-events.js";
import type { Logger } from "./process/telemetry/logger.js";
import { type Counter, createMetrics, type Metrics } from "./process/telemetry/metrics.js";
import { keepRecent, Recent } from "./process/telemetry/recent.js";
import { buildMetric, type Disk, diskMetrics, storeMetrics } from "./process/telemetry/store-metrics.js";
import type { Tracing } from "./process/telemetry/tracing.js";
import { VERSION } from "./process/version.js";
import { egressPolicy } from "./sender/egress-policy.js";
import { endpoint } from "./sender/endpoint.js";
import { hostResolver } from "./sender/host-resolver.js";
import { openTokens, type Tokens } from "./tokens/tokens.js";
import { openTransformations } from "./transformations/transformations.js";
import { Trials } from "./transformations/trials.js";
import { IngestThreads } from "./workers/ingest-threads.js";
import { spreadServer } from "./workers/spread-server.js";

export interface Collector {
  readonly url: string;
  readonly port: number;
  /** Where control API, dashboard and metrics are. The same as `url`, unless they have an address of their own. */
  readonly adminUrl: string;
  /** The configured URL at which clients send messages. */
  readonly publicUrl: string | undefined;
  /** In `dev` mode: the first source and admin token. */
  readonly firstRun: FirstRun | undefined;
  /** The region it runs as; undefined if no region is configured. */
  readonly region: Region | undefined;
  readonly store: Store;
  /** Stops accepting requests, lets pending work finish for at most `graceMs`, and closes all stages in reverse order. */
  close(graceMs: number): Promise<void>;
}

/** Builds all stages, connects them, and listens. If one cannot start, it closes the others and rejects. */
export function startCollector(options: CollectorOptions): Promise<Collector> {
  return startWithStages(options, (stages) => startStages(options, stages));
}

/** The parts that stages share. */
interface Shared {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly live: LiveEvents;
  readonly counts: DeliveryCounts;
  readonly budget: BufferBudget;
  readonly httpMetrics: HttpMetricsOfProcess;
  readonly wrongKeys: WrongKeys;
  readonly refusedJoins: Recent<RefusedJoinsOf>;
  /** The threads that take requests. Undefined: the main thread does. */
  readonly ingestThreads: IngestThreads | undefined;
  readonly region: Region | undefined;
  readonly publicUrl: string | undefined;
  readonly startedAtMs: number;
  /** Undefined if no spans are exported. */
  readonly tracing: Tracing | undefined;
  readonly readDisk: () => Promise<Disk>;
}

function sharedParts(options: CollectorOptions): Shared {
  const clock = options.clock ?? systemClock;
  const region = options.region ?? defaultRegion(options.regionUrls);
  const parts = {
    clock,
    metrics: createMetrics({ withProcess: true }),
    live: liveEvents(),
    wrongKeys: wrongKeys(clock),
    refusedJoins: new Recent<RefusedJoinsOf>(clock),
    region,
    publicUrl: options.publicUrl ?? (region === undefined ? undefined : options.regionUrls?.[region]),
    tracing: options.tracing?.exportsSpans === false ? undefined : options.tracing,
  };
  const ingestThreads = openIngestThreads(options, parts);
  const maxBufferedBytes = options.httpLimits?.maxBufferedBytes ?? HTTP_LIMITS.maxBufferedBytes;
  const budget = bufferBudget(maxBufferedBytes, clock, ingestThreads?.held);
  return {
    ...parts,
    logger: options.logger,
    counts: deliveryCounts(),
    budget,
    httpMetrics: httpMetrics(parts.metrics, budget),
    ingestThreads,
    startedAtMs: clock.now(),
    readDisk: options.readDisk ?? (() => diskSpace(options.dataDirectory)),
  };
}

/** Linux and FreeBSD deal the connections of a port out to several threads. Elsewhere, and for a store that was given, the main thread takes all. */
function openIngestThreads(
  options: CollectorOptions,
  parts: Pick<Shared, "clock" | "metrics" | "live" | "wrongKeys" | "region" | "publicUrl" | "tracing">,
): IngestThreads | undefined {
  const { httpLimits = {}, regionUrls = {}, messagesPerSecond } = options;
  const count = furtherThreads(options);
  const canShare = ["linux", "freebsd"].includes(process.platform);
  const isGiven = options.store !== undefined || options.startServer !== undefined;
  if (count === 0 || !canShare || (isGiven && options.startWorker === undefined)) return undefined;
  const { trustedProxies, proxyHeaders } = { ...HTTP_LIMITS, ...httpLimits };
  return new IngestThreads({
    ...parts,
    count,
    trustedProxies: { count: trustedProxies, headers: proxyHeaders },
    options: {
      ...{ httpLimits, regionUrls, messagesPerSecond, region: parts.region, publicUrl: parts.publicUrl },
      tracesShare: tracesShareOf(parts.tracing),
    },
  });
}

async function startStages(options: CollectorOptions, stages: Stages): Promise<Collector> {
  const shared = sharedParts(options);
  const { clock } = shared;
  const { watchClock = clock } = options;
  const { keep } = stages;
  const { opened, limits } = await openStore(options, shared);
  const store = keep(opened, (it) => it.close());
  registerMetrics(shared, store, options.tracing);
  options.cluster?.showMetrics(shared.metrics);
  const key = await openKey(options, store);
  const tokens = keep(
    await openTokens({
      config: store.config,
      clock,
      ...defined({ configured: options.adminToken, configuredForMetrics: options.metricsToken }),
    }),
    (it) => it.close(),
  );
  const first = await makeFirstAccess(options, shared, store, tokens);
  const { promise: mayBegin, resolve: begin } = Promise.withResolvers<void>();
  const profiles = { mayBegin, begin };
  const { promise: isListening, resolve: listens } = Promise.withResolvers<void>();
  const processing = await startProcessing({ options, shared, stages, store, key, profiles, isListening });
  const sources = keep(await openSourceDirectory(store.config), (it) => it.close());
  const watching = { ...shared, clock: watchClock };
  const { events, onPlanRefusal } = await startEvents(watching, stages, store, sources);
  const counting = await startCounting(watching, stages, store, processing.audiences);
  const { counters } = counting;
  const incidents = keep(
    await startIncidents({
      ...{ ...processing, ...watching, store, counters },
      logger: shared.logger.with({ component: "incidents" }),
    }),
    (it, leftMs) => it.close(leftMs),
  );
  const ingestion = countIngestion(shared, store);
  const listeners = keep(
    await startListeners({
      ...shared,
      start: serverStarter(options, shared, { ingestMetrics: ingestion, onPlanRefusal }),
      logger: shared.logger.with({ component: "http" }),
      ...defined({ limits: options.httpLimits }),
      ...routesByAddress(options, {
        ...{ ...shared, ...processing, ...counting, store, tokens, sources, events, incidents, limits },
        ...{ onPlanRefusal, ingestion },
        trials: keep(new Trials(options.openSandboxes), (it) => it.close()),
        backups: startBackups({
          ...{ ...shared, ...processing, store, version: VERSION, dataDirectory: options.dataDirectory },
          isKeyInEnvironment: (options.secretKey ?? "") !== "",
        }),
      }),
    }),
    (it, leftMs) => it.close(leftMs),
  );
  listens();
  beginProfiles(options, clock, stages, profiles);
  return {
    url: listeners.public.url,
    port: listeners.public.port,
    adminUrl: (listeners.admin ?? listeners.public).url,
    publicUrl: shared.publicUrl,
    firstRun: first,
    region: shared.region,
    store,
    close: (graceMs) => stages.close(graceMs),
  };
}

/** Listens in the threads that take requests, if there are any. The address of operators is the main thread's. */
function serverStarter(
  options: CollectorOptions,
  { ingestThreads: threads, clock, logger, httpMetrics }: Shared,
  use: {
    readonly ingestMetrics: IngestMetricsOfProcess;
    readonly onPlanRefusal: RouteParts["onPlanRefusal"];
  },
): StartServer {
  const start = options.startServer ?? startServer;
  if (threads === undefined) return start;
  return (server) =>
    server.name === "admin"
      ? start(server)
      : spreadServer(
          { threads, clock, logger, start, use: { ...use, httpMetrics } },
          { ...server, inTurn: threads.inTurn },
        );
}

/** Lets the thread that builds profiles begin now, or later. */
function beginProfiles(
  { profilesAfterMs }: CollectorOptions,
  clock: Clock,
  { keep }: Stages,
  { begin }: ProcessingParts["profiles"],
): void {
  if (profilesAfterMs === undefined) begin();
  else
    keep(clock.after(profilesAfterMs, begin), (cancel) => {
      cancel();
      // Requests that are still open may wait for profiles.
      begin();
    });
}

function countIngestion({ metrics, clock, logger }: Shared, store: Store): IngestMetricsOfProcess {
  return ingestMetrics(metrics, clock, {
    logger: logger.with({ component: "ingest" }),
    health: () => store.health(),
  });
}

/** The event catalog, and what it is told of messages that a plan refused. */
async function startEvents(
  { metrics, clock, logger }: Shared,
  { keep }: Stages,
  store: Store,
  sources: SourceDirectory,
) {
  const violations = metricOfViolations(metrics);
  const events = keep(
    await startEventCatalog({
      store,
      clock,
      planOf: sources.planOf,
      isSource: sources.has,
      logger: logger.with({ component: "events" }),
      onReported: (sourceId, messages) => violations.inc([sourceId, "report"], messages),
    }),
    (it) => it.close(),
  );
  const onPlanRefusal: NonNullable<IngestRoutesOptions["onPlanRefusal"]> = (refused) => {
    violations.inc([refused.sourceId, "refuse"]);
    events.addRefused(refused);
  };
  return { events, onPlanRefusal };
}

/** What reads counters and sizes over time. */
async function startCounting(
  { metrics, counts, clock, wrongKeys, refusedJoins }: Shared,
  { keep }: Stages,
  { config }: Store,
  audiences: Audiences,
) {
  keep(await keepRecent(wrongKeys.recent, "wrong_keys", { clock, config }), (it) => it.close());
  keep(await keepRecent(refusedJoins, "refused_joins", { clock, config }), (it) => it.close());
  return {
    counters: keep(await Counters.start({ metrics, counts, clock, config }), (it) => it.close()),
    sizes: keep(await startSizeHistory(audiences, clock, config), (it) => it.close()),
  };
}

function registerMetrics(
  { metrics, readDisk }: Shared,
  store: Store,
  telemetry: Pick<Tracing, "onDropped"> | undefined,
): void {
  storeMetrics(store, metrics);
  diskMetrics(metrics, readDisk, lowBelowBytes);
  buildMetric(metrics, VERSION);
  const dropped = metrics.counter(
    "sluice_telemetry_dropped_total",
    "Spans (traces) and log lines (logs) that could not be exported over OTLP",
    ["signal"],
  );
  if (telemetry === undefined) return;
  for (const signal of ["traces", "logs"]) dropped.inc([signal], 0);
  telemetry.onDropped((signal, count) => dropped.inc([signal], count));
}

function metricOfViolations(metrics: Metrics): Counter {
  return metrics.counter(
    "sluice_plan_violations_total",
    "Messages that violated their source's tracking plan, by the plan's mode: stored (report) or refused (refuse)",
    ["source", "mode"],
  );
}

/** The store that was given, or the embedded one in the data folder, and the limits in force. */
async function openStore(
  options: CollectorOptions,
  { clock, logger }: Shared,
): Promise<{ readonly opened: Store; readonly limits: LimitsView }> {
  const { dataDirectory } = options;
  // A start that fails for its port should not leave a new data folder behind.
  if (!existsSync(dataDirectory))
    for (const { host, port } of [options, options.adminListen ?? { host: "", port: 0 }])
      if (port !== 0) await checkPort(host, port);
  await makeDataFolder(dataDirectory);
  const corrected = await makeOwnerOnly(dataDirectory);
  if (corrected.length > 0)
    logger.warn("removed other users' access to files in the data folder", {
      folder: dataDirectory,
      files: corrected,
    });
  const retention = await retentionOf(options);
  const limits = limitsView(retention, options.messagesPerSecond);
  logger.info("limits of sources", {
    ...limits.messagesPerSecond,
    change: "set messagesPerSecond in the configuration, or the rate limit of a source",
  });
  if (options.store !== undefined) return { opened: options.store, limits };
  refuseClusterFolder(dataDirectory);
  announceRetention(logger, retention);
  const opened = await openSqliteStore({
    directory: dataDirectory,
    clock,
    retention,
    onDamage: (what) => logger.error("stored data is damaged", { what }),
    onNote: (what) => logger.info("the store was opened", { what }),
    ...defined({ dedupeWindowMs: options.dedupeWindowMs }),
  });
  return { opened, limits };
}

/** What the store keeps: a store that was given has its own limits. */
async function retentionOf({
  store,
  storeRetention = {},
  retention,
  dataDirectory,
}: CollectorOptions): Promise<RetentionOptions> {
  if (store !== undefined) return storeRetention;
  return retention === undefined ? {} : resolveRetention(retention, dataDirectory);
}

function limitsView(
  { maxAgeMs, maxBytes }: RetentionOptions,
  messagesPerSecond: CollectorOptions["messagesPerSecond"],
): LimitsView {
  const rates = (["server", "web", "mobile"] as const).map((kind) => [
    kind,
    rateOf({ kind }, messagesPerSecond),
  ]);
  return {
    ...defined({ retentionMs: maxAgeMs, retentionBytes: maxBytes }),
    messagesPerSecond: Object.fromEntries(rates.filter(([, rate]) => rate !== undefined)),
  };
}

/** The key that seals the secrets of destinations and transformations, and keys the digests of user ids. */
async function openKey(
  { secretKey, dataDirectory, logger }: CollectorOptions,
  store: Store,
): Promise<Uint8Array> {
  const { key, orphaned } = await openSecretKey({
    fromEnvironment: secretKey,
    file: join(dataDirectory, "secret.key"),
    async sealedFor() {
      const kinds = [DOCUMENT_KINDS.destination, DOCUMENT_KINDS.transformation];
      const all = await Promise.all(kinds.map((kind) => store.config.list(kind)));
      return all
        .flat()
        .filter(({ value }) => hasSealed(value))
        .map(({ id }) => id);
    },
  });
  if (orphaned.length > 0)
    logger.error(
      "the secret key file was missing: enter the secrets of these destinations and transformations again",
      { ids: orphaned },
    );
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
  /** When the thread that builds profiles may begin: some time after the collector listens, or at once if the start waits for it. */
  readonly profiles: { readonly mayBegin: Promise<void>; readonly begin: () => void };
  /** Resolves when the collector listens. Sending a backlog before would delay that. */
  readonly isListening: Promise<void>;
}

/** What destinations send with: the rules for their targets, and what seals their secrets. */
function sendingParts(options: CollectorOptions, clock: Clock, key: Uint8Array): CatalogSending {
  return {
    clock,
    secrets: secretBox(key),
    egress: egressPolicy({ allow: options.allowTargets ?? [] }),
    resolve: options.resolve ?? hostResolver({ clock }),
    openEndpoint: options.openEndpoint ?? endpoint,
  };
}

/** Starts the stages that work on stored messages: delivery, audiences, deletions. */
async function startProcessing(parts: ProcessingParts) {
  const { options, shared, store, key } = parts;
  const { keep } = parts.stages;
  const { clock, logger, metrics, live } = shared;
  const sending = sendingParts(options, clock, key);
  const catalog = await openCatalog(options, sending, logger);
  const digestKey = idDigestKey(key);
  const digest = idDigest(digestKey);
  const suppressions = keep(await openSuppressions({ store, clock, digest }), (it) => it.close());
  warnOfUnrecognized(suppressions, logger);
  const transformations = keep(
    await openTransformations({
      ...{ config: store.config, secrets: sending.secrets },
      ...defined({ openSandboxes: options.openSandboxes }),
    }),
    (it) => it.close(),
  );
  const threads = deliveryThreads(options, key, store);
  const delivery = keep(
    await startDelivery({
      store,
      suppressions,
      transformations,
      catalog,
      clock,
      logger: logger.with({ component: "delivery" }),
      metrics,
      live,
      counts: shared.counts,
      tracing: shared.tracing,
      mayBegin: parts.isListening,
      ...defined({ policy: options.deliveryPolicy }),
      threads: threads && { ...threads, companion: shared.ingestThreads },
    }),
    (it, leftMs) => it.close(leftMs),
  );
  const audiences = await startProfiles(parts, digestKey);
  const deletions = keep(
    await startDeletions({
      store,
      profiles: audiences,
      suppressions,
      catalog,
      digest,
      clock,
      newId: () => newId("del"),
      onRetriesRemoved: () => delivery.requeued(),
      onPurged: delivery.purged,
      logger: logger.with({ component: "deletions" }),
    }),
    (it) => it.close(),
  );
  // Deletions that go on from the last run may wait for profiles, and closing waits for them.
  keep(parts.profiles, ({ begin }) => begin());
  const operations = keep(
    await startOperations({
      store,
      delivery,
      live,
      clock,
      newId: (kind) => newId(kind === "replay" ? "rpl" : "op"),
      logger: logger.with({ component: "operations" }),
    }),
    (it) => it.close(),
  );
  return { ...sending, catalog, suppressions, transformations, delivery, audiences, deletions, operations };
}

type CatalogSending = Required<
  Pick<CatalogDeps, "clock" | "secrets" | "egress" | "resolve" | "openEndpoint">
>;

/** The built-in destination types and those from outside. */
async function openCatalog(
  { dataDirectory, destinations = [] }: CollectorOptions,
  sending: CatalogSending,
  logger: Logger,
): Promise<Catalog> {
  const named = destinations.filter((one) => typeof one === "string");
  const packages = await loadPackages(named, process.cwd(), BUILT_IN_TYPES);
  for (const one of packages.unusable)
    logger.error("a package of destination types cannot be used", { ...one });
  const log = logger.with({ component: "destinations" });
  return createCatalog({
    ...sending,
    exportsFolder: join(dataDirectory, "exports"),
    packages,
    given: destinations.filter((one) => typeof one !== "string"),
    log: (level, text, fields) => log[level](text, fields),
  });
}

/** Starts what builds profiles and evaluates audiences and computed traits. */
async function startProfiles(
  { options, shared, stages, store, profiles }: ProcessingParts,
  digestKey: Uint8Array,
): Promise<Audiences> {
  const { clock, metrics } = shared;
  const logger = shared.logger.with({ component: "audiences" });
  // A store that was given has its data elsewhere, or only in memory. Profiles are then kept in memory too.
  const engine =
    options.store === undefined
      ? startEngineThread(
          { directory: options.dataDirectory },
          { logger, metrics, mayStart: profiles.mayBegin },
        )
      : new AudienceEngine(
          options.profiles ?? memoryProfileStore(),
          defined({ crashMarkers: options.cluster?.crashMarkers }),
        );
  const { begin: onNeeded } = profiles;
  return stages.keep(
    await startAudiences({
      ...{ store, engine, clock, logger, metrics, digestKey, onNeeded },
      onRefusedJoins: (sourceId, messages) => shared.refusedJoins.add({ sourceId }, messages),
    }),
    (it) => {
      // Closing waits for the calls that wait for it.
      profiles.begin();
      return it.close();
    },
  );
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
  Awaited<ReturnType<typeof startProcessing>> &
  Awaited<ReturnType<typeof startCounting>> & {
    readonly store: Store;
    readonly tokens: Tokens;
    readonly sources: SourceDirectory;
    readonly events: EventCatalog;
    readonly onPlanRefusal: NonNullable<IngestRoutesOptions["onPlanRefusal"]>;
    readonly incidents: Incidents;
    readonly backups: Backups;
    readonly limits: LimitsView;
    readonly trials: Trials;
    readonly ingestion: IngestMetricsOfProcess;
  };

/** Everything on one address; or only what clients use on the public address, and everything on the operators' address. */
function routesByAddress(options: CollectorOptions, parts: RouteParts): RoutesByAddress {
  const { host, port, adminListen, publicUrl } = options;
  const forClients = clientRoutes(options, parts);
  const guarded = operatorRoutes({
    ...parts,
    planOf: parts.sources.planOf,
    logger: parts.logger.with({ component: "admin" }),
    mode: options.mode,
    cluster: options.cluster?.control,
    version: VERSION,
    dashboardDirectory: options.dashboardDirectory,
  });
  const allowedHosts = [...(options.allowedHosts ?? [])];
  if (adminListen !== undefined)
    return {
      public: { host, port, routes: forClients },
      admin: {
        ...adminListen,
        routes: [
          ...forClients,
          ...checkHosts(guarded, { listensOn: adminListen.host, isSeparate: true, allowedHosts }),
        ],
      },
    };
  // The public name is ours. It does not switch the check on where there was none.
  if (publicUrl !== undefined && (allowedHosts.length > 0 || isLoopback(host)))
    allowedHosts.push(new URL(publicUrl).host);
  return {
    public: {
      host,
      port,
      routes: [...forClients, ...checkHosts(guarded, { listensOn: host, allowedHosts })],
    },
  };
}

type RoutesByAddress = Pick<ListenersOptions, "public" | "admin">;

/** As long as a request waits for an owner. The log of a cluster may be without servers for much longer. */
const CLUSTER_ANSWER_MS = 8_000;

/** What clients use: ingestion and health. */
function clientRoutes(options: CollectorOptions, parts: RouteParts): Route[] {
  const { store, logger, metrics } = parts;
  return [
    ...healthRoutes({
      health: () => store.health(),
      budget: parts.budget,
      metrics,
      clock: parts.clock,
      readDisk: parts.readDisk,
      ...defined({ cluster: options.cluster }),
    }),
    ...ingestRoutes({
      ...parts,
      metrics: parts.ingestion,
      buckets: parts.ingestThreads?.buckets,
      logger: logger.with({ component: "ingest" }),
      regionUrls: options.regionUrls ?? {},
      limits: defined({ messagesPerSecond: options.messagesPerSecond }),
      ...(options.cluster === undefined ? {} : { answerWithinMs: CLUSTER_ANSWER_MS }),
    }),
  ];
}

/** A collector that knows URLs of regions has regions, so it runs as one of them. */
function defaultRegion(regionUrls: CollectorOptions["regionUrls"] = {}): Region | undefined {
  return Object.values(regionUrls).some((url) => url !== undefined) ? DEFAULT_REGION : undefined;
}
