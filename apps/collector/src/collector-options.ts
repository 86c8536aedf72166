import { availableParallelism, totalmem } from "node:os";
import type { CrashMarkers } from "@sluice/audiences";
import type { DefinedDestination } from "@sluice/destination";
import type { ProfileStore, RetentionOptions, Store } from "@sluice/event-log";
import type { Region } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { Sandboxes } from "@sluice/transformations";
import type { ClusterControl } from "./admin/collector/cluster-control.js";
import type { DeliveryPolicy } from "./delivery/delivery-stage.js";
import type { StartWorker } from "./delivery/workers/delivery-thread.js";
import type { ClusterReadiness } from "./http/health-routes.js";
import type { HttpLimits } from "./http/limits.js";
import type { ListenAddress } from "./http/listeners.js";
import type { StartServer } from "./http/server.js";
import { defined } from "./process/defined.js";
import type { CollectorConfig } from "./process/settings.js";
import type { Logger } from "./process/telemetry/logger.js";
import type { Metrics } from "./process/telemetry/metrics.js";
import type { Tracing } from "./process/telemetry/tracing.js";
import type { ResolveHost } from "./sender/checked-connector.js";
import type { OpenEndpoint } from "./sender/endpoint.js";

/** What a collector shows of the cluster to which it belongs. */
export interface ClusterPart extends ClusterReadiness {
  readonly control: ClusterControl;
  /** Where this process keeps which messages it is about to count for profiles. */
  readonly crashMarkers: CrashMarkers;
  showMetrics(metrics: Metrics): void;
}

export interface CollectorOptions {
  /** `dev` creates a first source and an admin token, keeps them readable in the data folder, and allows `POST /api/v1/reset`. */
  readonly mode: "dev" | "production";
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** An address of their own for control API, dashboard and metrics. Default: none, they are at `host` and `port`. */
  readonly adminListen?: ListenAddress;
  /** The URL at which clients send messages. Default: the URL of its own region, or as each client reached the collector. */
  readonly publicUrl?: string;
  /** The folder for all data. */
  readonly dataDirectory: string;
  readonly logger: Logger;
  /** Takes the spans of traced messages, to export them. Default: none are made; messages' own trace context is passed on. */
  readonly tracing?: Tracing;
  /** Default: the embedded store in the data folder. */
  readonly store?: Store;
  /** The retention of `store`, to show it. Default: everything is kept. */
  readonly storeRetention?: RetentionOptions;
  /**
   * The cluster whose log it owns. Default: it runs on its own.
   * @internal
   */
  readonly cluster?: ClusterPart;
  readonly clock?: Clock;
  /** A token of the control API, set by the operator. */
  readonly adminToken?: string;
  /** A token for `/metrics` alone, set by the operator. */
  readonly metricsToken?: string;
  /** The key that seals destinations' secrets, 32 bytes in hex or base64. Default: created and kept in the data folder. */
  readonly secretKey?: string;
  /** Default: `oregon` if `regionUrls` has a URL, else none. */
  readonly region?: Region;
  readonly regionUrls?: Readonly<Partial<Record<Region, string>>>;
  /** Webhook targets that are allowed besides public addresses: addresses, blocks, host names. */
  readonly allowTargets?: readonly string[];
  /** Destination types from outside: packages by name, files by path, or definitions. Default: none. */
  readonly destinations?: readonly (string | DefinedDestination)[];
  /**
   * How many threads work, this one included. With two or more, the others take requests and deliver, unless `clock`, `resolve`,
   * `openEndpoint` or `openSandboxes` is given without `startWorker`. Default: 1.
   */
  readonly workers?: number;
  /** Starts a thread that works. Default: one of Node.js. */
  readonly startWorker?: StartWorker;
  readonly dedupeWindowMs?: number;
  /** How long and how much to keep, as in the configuration. Default: everything. The log announces it. */
  readonly retention?: Pick<CollectorConfig, "retentionMs" | "retentionBytes">;
  /** Messages a second of each source without a limit of its own; `auto`: by the kind of source. Default: no limit. */
  readonly messagesPerSecond?: number | "auto";
  /** Host names for dashboard, control API and metrics, besides addresses and `localhost`; `*`: all. Default: none on loopback, all elsewhere. */
  readonly allowedHosts?: readonly string[];
  readonly httpLimits?: Partial<HttpLimits>;
  readonly deliveryPolicy?: Partial<DeliveryPolicy>;
  /** The folder of the built dashboard. Default: the one that is part of the package, if it was built. */
  readonly dashboardDirectory?: string;
  /** The free space of the data folder's disk, for incidents. Default: as the operating system says. */
  readonly readDisk?: () => Promise<{ readonly freeBytes: number; readonly totalBytes: number }>;
  /** Resolves the host names of webhooks. Default: the resolver of the operating system. */
  readonly resolve?: ResolveHost;
  /** Sends webhooks. Default: over the network. */
  readonly openEndpoint?: OpenEndpoint;
  /** Runs the code of transformations. Default: in the sandboxes of `@sluice/transformations`. */
  readonly openSandboxes?: () => Promise<Sandboxes>;
  /** Serves the routes. Default: over the network. */
  readonly startServer?: StartServer;
  /** Where profiles are kept if `store` is given. Default: in memory. */
  readonly profiles?: ProfileStore;
  /** The clock of the stages that only watch the others: charts, the event catalog, incidents. Default: `clock`. */
  readonly watchClock?: Clock;
  /**
   * How long after it listens it starts to build profiles, if no audience or computed trait is defined. So the first requests need not
   * share the machine with the start of a thread. In milliseconds. Default: 0.
   */
  readonly profilesAfterMs?: number;
}

/** A machine with less memory, in bytes, has no room for more threads. */
const ROOMY_BYTES = 1_000_000_000;
const MOST_WORKERS = 8;

/** One core is left to the thread of the store. */
export function workersFor(cores: number, memoryBytes: number): number {
  return memoryBytes < ROOMY_BYTES ? 1 : Math.min(MOST_WORKERS, Math.max(1, cores - 1));
}

/** The first deliveries of a collector that has messages waiting are out by then. */
const PROFILES_AFTER_MS = 250;

/** The options of a production collector with this configuration. */
export function collectorOptions(
  config: CollectorConfig,
  logger: Logger,
  env: { readonly [name: string]: string | undefined } = process.env,
): CollectorOptions {
  const { messagesPerSecond } = config;
  return {
    mode: "production",
    host: config.host,
    port: config.port,
    dataDirectory: config.dataDir,
    logger,
    regionUrls: defined({ oregon: config.oregonUrl, dublin: config.dublinUrl }),
    allowTargets: config.allowTargets,
    destinations: config.destinations,
    workers: config.workers === "auto" ? workersFor(availableParallelism(), totalmem()) : config.workers,
    dedupeWindowMs: config.dedupeWindowMs,
    allowedHosts: config.allowedHosts,
    retention: config,
    profilesAfterMs: PROFILES_AFTER_MS,
    httpLimits: {
      maxBufferedBytes: config.maxBufferedBytes,
      maxConnections: config.maxConnections,
      requestTimeoutMs: config.requestTimeoutMs,
      trustedProxies: config.trustedProxies,
      proxyHeaders: config.proxyHeaders,
    },
    ...defined({
      region: config.region,
      adminListen: config.adminListen,
      publicUrl: config.publicUrl,
      adminToken: config.adminToken,
      metricsToken: config.metricsToken,
      secretKey: env.SLUICE_SECRET_KEY,
      messagesPerSecond: messagesPerSecond === "none" ? undefined : messagesPerSecond,
    }),
  };
}
