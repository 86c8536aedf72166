import type { Store } from "@sluice/event-log";
import type { Region } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { DeliveryPolicy } from "./delivery/delivery-policy.js";
import type { HttpLimits } from "./http/limits.js";
import { defined } from "./process/defined.js";
import type { CollectorConfig } from "./process/settings.js";
import type { Logger } from "./process/telemetry/logger.js";
import type { ResolveHost } from "./sender/checked-connector.js";
import type { OpenEndpoint } from "./sender/endpoint.js";

export interface CollectorOptions {
  /** `dev` creates a first source and an admin token, keeps them readable in the data folder, and allows `POST /api/v1/reset`. */
  readonly mode: "dev" | "production";
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The folder for all data. */
  readonly dataDirectory: string;
  readonly logger: Logger;
  /** Default: the embedded store in the data folder. */
  readonly store?: Store;
  readonly clock?: Clock;
  /** A token of the control API, set by the operator. */
  readonly adminToken?: string;
  /** The key that seals destinations' secrets, 32 bytes in hex or base64. Default: created and kept in the data folder. */
  readonly secretKey?: string;
  /** Default: `oregon` if `regionUrls` has a URL, else none. */
  readonly region?: Region;
  readonly regionUrls?: Readonly<Partial<Record<Region, string>>>;
  /** Webhook targets that are allowed besides public addresses: addresses, blocks, host names. */
  readonly allowTargets?: readonly string[];
  readonly dedupeWindowMs?: number;
  /** How long and how much to keep, as in the configuration. Default: everything. The log announces it. */
  readonly retention?: Pick<CollectorConfig, "retentionMs" | "retentionBytes">;
  /** Messages a second of each source without a limit of its own; `auto`: 10,000 of web and mobile sources. Default: no limit. */
  readonly messagesPerSecond?: number | "auto";
  /** Host names for dashboard, control API and metrics, besides addresses and `localhost`; `*`: all. Default: none on loopback, all elsewhere. */
  readonly allowedHosts?: readonly string[];
  readonly httpLimits?: Partial<HttpLimits>;
  readonly deliveryPolicy?: Partial<DeliveryPolicy>;
  /** The folder of the built dashboard. Default: the one that is part of the package, if it was built. */
  readonly dashboardDirectory?: string;
  /** Resolves the host names of webhooks. Default: the resolver of the operating system. */
  readonly resolve?: ResolveHost;
  /** Sends webhooks. Default: over the network. */
  readonly openEndpoint?: OpenEndpoint;
}

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
    dedupeWindowMs: config.dedupeWindowMs,
    allowedHosts: config.allowedHosts,
    retention: config,
    httpLimits: {
      maxBufferedBytes: config.maxBufferedBytes,
      maxConnections: config.maxConnections,
      requestTimeoutMs: config.requestTimeoutMs,
      trustedProxies: config.trustedProxies,
    },
    ...defined({
      region: config.region,
      adminToken: config.adminToken,
      secretKey: env.SLUICE_SECRET_KEY,
      messagesPerSecond: messagesPerSecond === "none" ? undefined : messagesPerSecond,
    }),
  };
}
