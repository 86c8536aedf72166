import { resolve } from "node:path";
import type { CollectorConfig } from "@sluice/collector";
import type { Command } from "commander";
import manifest from "../../../package.json" with { type: "json" };
import { definedFields } from "../../arguments.js";
import { announceListening } from "../../connection/listening-file.js";
import { examples, newCommand } from "../../definition.js";
import { CommandFailure, listenFailure } from "../../failures.js";
import type { Io } from "../../terminal/io.js";
import { untilAborted } from "../../terminal/io.js";
import { terminalJson } from "../../terminal/terminal-text.js";
import { openTelemetry } from "./telemetry.js";

/** How long the last spans and log lines may take to be exported. */
const TELEMETRY_GRACE_MS = 1_500;

interface CollectorCommandOptions {
  readonly config?: string;
  readonly port?: string;
  readonly host?: string;
  readonly adminListen?: string;
  readonly publicUrl?: string;
  readonly dataDir?: string;
  readonly region?: string;
  readonly workers?: string;
  readonly clusterServers?: string;
  readonly clusterNode?: string;
  readonly clusterAcceptUnsynced?: boolean;
  readonly logFormat?: string;
  readonly otlpEndpoint?: string;
  readonly json?: boolean;
}

export function collectorCommand(io: Io): Command {
  const command = newCommand(
    "collector",
    "run a collector in production, configured by a file and environment variables",
  )
    .option("--config <file>", "a JSON file with settings (SLUICE_CONFIG)")
    .option("--port <port>", "the port to listen on (SLUICE_PORT)")
    .option("--host <address>", "the address to listen on (SLUICE_HOST)")
    .option(
      "--admin-listen <host:port>",
      "an address of its own for dashboard, control API and metrics (SLUICE_ADMIN_LISTEN)",
    )
    .option("--public-url <url>", "the URL at which clients send messages (SLUICE_PUBLIC_URL)")
    .option("--data-dir <folder>", "the folder for all data (SLUICE_DATA_DIR)")
    .option("--region <region>", "the region to run as (SLUICE_REGION)")
    .option("--workers <number>", "how many threads work, `auto`: by the machine's cores (SLUICE_WORKERS)")
    .option(
      "--cluster-servers <urls>",
      "run as a part of a cluster, on these NATS servers (SLUICE_CLUSTER_SERVERS)",
    )
    .option("--cluster-node <name>", "the name of this collector in the cluster (SLUICE_CLUSTER_NODE)")
    .option(
      "--cluster-accept-unsynced",
      "start although the NATS servers may lose acknowledged messages in a power cut (SLUICE_CLUSTER_ACCEPT_UNSYNCED)",
    )
    .option("--log-format <format>", "auto, json or pretty (SLUICE_LOG_FORMAT)")
    .option(
      "--otlp-endpoint <url>",
      "export traces and logs to this OTLP/HTTP receiver, such as http://127.0.0.1:4318; needs @sluice/opentelemetry (OTEL_EXPORTER_OTLP_ENDPOINT)",
    )
    .action((options: CollectorCommandOptions) => runCollector(options, io));
  return examples(command, [
    [
      "On all addresses, with your own admin token",
      "SLUICE_ADMIN_TOKEN=… sluice collector --host 0.0.0.0 --data-dir /var/lib/sluice",
    ],
    [
      "Behind a proxy on this machine, with the dashboard only on this machine",
      "SLUICE_TRUSTED_PROXIES=1 sluice collector --admin-listen 127.0.0.1:8788",
    ],
    [
      "As one of several collectors of a cluster",
      "SLUICE_SECRET_KEY=… sluice collector --cluster-servers nats://10.0.0.1:4222,nats://10.0.0.2:4222",
    ],
    ["With a file of settings", "sluice collector --config /etc/sluice.json"],
  ]);
}

async function runCollector(options: CollectorCommandOptions, io: Io): Promise<void> {
  const { ConfigError, collectorOptions, createLogger, loadConfig, logOutput, startConfigured } =
    await import("@sluice/collector");
  const { config: file, json, otlpEndpoint, ...flags } = options;
  const config = (() => {
    try {
      const loaded = loadConfig({
        flags,
        env: io.env,
        ...definedFields({ file: file === undefined ? undefined : resolve(io.cwd, file) }),
      });
      return { ...loaded, dataDir: resolve(io.cwd, loaded.dataDir) };
    } catch (error) {
      throw error instanceof ConfigError ? new CommandFailure("usage", error.message) : error;
    }
  })();
  const { logLevel, logFormat, dataDir, closeGraceMs } = config;
  const telemetry = await openTelemetry(otlpEndpoint, manifest.version, io);
  const logger = createLogger({
    level: logLevel,
    also: telemetry?.log,
    ...logOutput(logFormat, { isTTY: io.isErrTerminal, columns: io.columns }, io.env),
    write: (line) => io.err(line),
  });
  const collector = await startConfigured(
    config,
    { ...collectorOptions(config, logger, io.env), ...definedFields({ tracing: telemetry?.tracing }) },
    io.interrupted,
  ).catch((error: unknown) => {
    throw startFailure(error, config);
  });
  const { url, adminUrl, publicUrl, region } = collector;
  const ready = {
    url,
    ...definedFields({ adminUrl: config.adminListen && adminUrl, publicUrl, region }),
  };
  const conceal = await announceListening(dataDir, collector).catch((error: unknown) => {
    logger.warn("other commands will not find this collector by its data folder", { error });
    return async () => {};
  });
  if (json) await io.out(`${terminalJson(ready)}\n`);
  logger.info("ready", ready);
  const failure = await untilEnded(io.interrupted, collector.failed);
  logger.info("closing", { graceMs: closeGraceMs });
  await conceal().catch(() => {});
  await collector.close(closeGraceMs);
  logger.info("closed");
  await telemetry?.close(TELEMETRY_GRACE_MS);
  if (failure !== undefined) throw failure;
}

/** Resolves when the command is interrupted, or with the failure of a collector that has to end by itself. */
async function untilEnded(
  interrupted: AbortSignal,
  failed: Promise<never> | undefined,
): Promise<CommandFailure | undefined> {
  const ended = untilAborted(interrupted).then(() => undefined);
  return Promise.race([ended, failed ?? ended]).catch(
    (error: unknown) => new CommandFailure("failed", (error as Error).message),
  );
}

/** Explains which of the addresses cannot be listened on. */
function startFailure(error: unknown, { host, port, adminListen }: CollectorConfig): unknown {
  const failed = error as { readonly port?: unknown; readonly address?: unknown } | undefined;
  const isAdmin =
    adminListen !== undefined && failed?.port === adminListen.port && failed.address === adminListen.host;
  if (!isAdmin) return listenFailure(error, host, port);
  const failure = listenFailure(error, adminListen.host, adminListen.port);
  if (!(failure instanceof CommandFailure)) return failure;
  return new CommandFailure(failure.exit, failure.message, "Choose another address with --admin-listen");
}
