import type { CollectorOptions } from "../collector.js";
import type { CollectorConfig } from "./config.js";
import type { Logger } from "./logger.js";

/** What a production collector is started with, from its configuration. */
export function collectorOptions(
  config: CollectorConfig,
  logger: Logger,
  env: { readonly [name: string]: string | undefined } = process.env,
): CollectorOptions {
  const { oregonUrl, dublinUrl, messagesPerSecond } = config;
  return {
    mode: "production",
    host: config.host,
    port: config.port,
    dataDirectory: config.dataDir,
    logger,
    ...(config.region === undefined ? {} : { region: config.region }),
    regionUrls: {
      ...(oregonUrl === undefined ? {} : { oregon: oregonUrl }),
      ...(dublinUrl === undefined ? {} : { dublin: dublinUrl }),
    },
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
    ...(config.adminToken === undefined ? {} : { adminToken: config.adminToken }),
    ...(env.SLUICE_SECRET_KEY === undefined ? {} : { secretKey: env.SLUICE_SECRET_KEY }),
    ...(messagesPerSecond === "none" ? {} : { messagesPerSecond }),
  };
}
