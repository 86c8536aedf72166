import { resolve } from "node:path";
import type { CollectorConfig } from "@sluice/collector";
import { isRegion, REGIONS, type Region } from "@sluice/protocol";
import { type Command, Option } from "commander";
import manifest from "../../../package.json" with { type: "json" };
import { definedFields, readPort } from "../../arguments.js";
import { DEV_DATA_DIR } from "../../connection/connection.js";
import { announceListening } from "../../connection/listening-file.js";
import { examples, newCommand } from "../../definition.js";
import { CommandFailure } from "../../failures.js";
import type { Io } from "../../terminal/io.js";
import { untilAborted } from "../../terminal/io.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";
import { devFailure } from "./dev-failure.js";
import { openTelemetry } from "./telemetry.js";

type CollectorApi = typeof import("@sluice/collector");
type Collector = Awaited<ReturnType<CollectorApi["startCollector"]>>;

/** How long requests and deliveries may take to finish after a signal. The process must end within 10 s. */
const CLOSE_GRACE_MS = 8_000;
/** How long the last spans and log lines may take to be exported. */
const TELEMETRY_GRACE_MS = 1_500;

interface DevOptions {
  readonly port: string;
  readonly host: string;
  readonly dataDir: string;
  readonly region?: string;
  readonly verbose?: boolean;
  readonly logFormat: "auto" | "json" | "pretty";
  readonly otlpEndpoint?: string;
  readonly json?: boolean;
}

export function devCommand(io: Io): Command {
  const command = newCommand(
    "dev",
    "run a collector with its dashboard on this machine, without configuration",
  )
    .option("--port <port>", "the port to listen on; 0 takes any free port", "8787")
    .option("--host <address>", "the address to listen on", "127.0.0.1")
    .option("--data-dir <folder>", "the folder for all data", DEV_DATA_DIR)
    .option("--region <region>", `the region to run as: ${REGIONS.join(", ")} (SLUICE_REGION)`)
    .option(
      "--verbose",
      "also log information to stderr, not only warnings and errors; requests are not logged",
    )
    .addOption(
      new Option("--log-format <format>", "how logs are written; auto: pretty on a terminal, json elsewhere")
        .choices(["auto", "json", "pretty"])
        .default("auto"),
    )
    .option(
      "--otlp-endpoint <url>",
      "export traces and logs to this OTLP/HTTP receiver, such as http://127.0.0.1:4318; needs @sluice/opentelemetry (OTEL_EXPORTER_OTLP_ENDPOINT)",
    )
    .action((options: DevOptions) => dev(options, io));
  return examples(command, [
    ["Collector and dashboard with a first source; data is stored in ./.sluice", "sluice dev"],
    [
      "For a test: any free port, its own folder, one line of JSON when ready",
      "sluice dev --port 0 --data-dir /tmp/events --json",
    ],
  ]);
}

async function dev(options: DevOptions, io: Io): Promise<void> {
  const dataDirectory = resolve(io.cwd, options.dataDir);
  const telemetry = await openTelemetry(options.otlpEndpoint, manifest.version, io);
  const collector = await start(options, dataDirectory, io, telemetry);
  let conceal = async (): Promise<void> => {};
  try {
    const ready = readyOf(collector);
    conceal = await announceListening(dataDirectory, collector);
    await io.out(options.json ? `${terminalJson(ready)}\n` : welcome(ready, dataDirectory, io));
    await untilAborted(io.interrupted);
    if (!options.json) io.err(`${io.errStyle.dim("Closing. All accepted messages are stored.")}\n`);
  } finally {
    await conceal();
    await collector.close(CLOSE_GRACE_MS);
    await telemetry?.close(TELEMETRY_GRACE_MS);
  }
}

async function start(
  options: DevOptions,
  dataDirectory: string,
  io: Io,
  telemetry: Awaited<ReturnType<typeof openTelemetry>>,
): Promise<Collector> {
  const { host } = options;
  const port = readPort(options.port);
  if (options.region !== undefined && !isRegion(options.region))
    throw new CommandFailure("usage", `--region must be one of ${REGIONS.join(", ")}, got ${options.region}`);
  const { createLogger, startCollector, ...collectorApi } = await import("@sluice/collector");
  const environment = readEnvironment(collectorApi, io);
  const logger = createLogger({
    level: options.verbose === true || options.json === true ? "info" : "warn",
    ...collectorApi.logOutput(options.logFormat, { isTTY: io.isErrTerminal, columns: io.columns }, io.env),
    write: (line) => io.err(line),
    also: telemetry?.log,
  });
  return await startCollector({
    mode: "dev",
    host,
    port,
    dataDirectory,
    ...definedFields({
      region: options.region ?? environment.region,
      publicUrl: environment.publicUrl,
      secretKey: io.env.SLUICE_SECRET_KEY,
    }),
    httpLimits: environment.proxies,
    regionUrls: environment.regionUrls,
    allowedHosts: environment.allowedHosts,
    destinations: environment.destinations,
    retention: environment.limits,
    ...definedFields({
      messagesPerSecond:
        environment.limits.messagesPerSecond === "none" ? undefined : environment.limits.messagesPerSecond,
    }),
    logger,
    ...definedFields({ tracing: telemetry?.tracing }),
    // Receivers under development run on this machine.
    allowTargets: ["127.0.0.0/8", "::1/128", "localhost"],
  }).catch(async (error: unknown) => {
    throw await devFailure(error, { host, port, dataDirectory });
  });
}

function readyOf({ firstRun, url }: Collector): DevReady {
  if (firstRun === undefined) throw new Error("The collector did not create a first source");
  const { adminToken, writeKey, sourceId } = firstRun;
  const dashboardUrl = `${url}/#token=${encodeURIComponent(adminToken)}`;
  return { url, dashboardUrl, adminToken, writeKey, sourceId };
}

interface DevEnvironment {
  readonly region: Region | undefined;
  readonly regionUrls: Readonly<Partial<Record<Region, string>>>;
  readonly allowedHosts: readonly string[];
  readonly destinations: readonly string[];
  readonly publicUrl: string | undefined;
  readonly proxies: Pick<CollectorConfig, "trustedProxies" | "proxyHeaders">;
  readonly limits: Pick<CollectorConfig, "retentionMs" | "retentionBytes" | "messagesPerSecond">;
}

/** Reads regions, host names, packages, limits and what is known about proxies from the same variables as in production. */
function readEnvironment(
  { ConfigError, loadConfig }: Pick<CollectorApi, "ConfigError" | "loadConfig">,
  { env }: Io,
): DevEnvironment {
  const { SLUICE_REGION, SLUICE_OREGON_URL, SLUICE_DUBLIN_URL, SLUICE_ALLOWED_HOSTS } = env;
  const { SLUICE_RETENTION_MS, SLUICE_RETENTION_BYTES, SLUICE_MESSAGES_PER_SECOND } = env;
  const { SLUICE_PUBLIC_URL, SLUICE_TRUSTED_PROXIES, SLUICE_PROXY_HEADERS, SLUICE_DESTINATIONS } = env;
  try {
    const { region, oregonUrl, dublinUrl, allowedHosts, destinations, publicUrl, ...rest } = loadConfig({
      env: {
        ...{ SLUICE_REGION, SLUICE_OREGON_URL, SLUICE_DUBLIN_URL, SLUICE_ALLOWED_HOSTS },
        ...{ SLUICE_RETENTION_MS, SLUICE_RETENTION_BYTES, SLUICE_MESSAGES_PER_SECOND },
        ...{ SLUICE_PUBLIC_URL, SLUICE_TRUSTED_PROXIES, SLUICE_PROXY_HEADERS, SLUICE_DESTINATIONS },
      },
    });
    const regionUrls = definedFields({ oregon: oregonUrl, dublin: dublinUrl });
    const { trustedProxies, proxyHeaders, ...limits } = rest;
    const proxies = { trustedProxies, proxyHeaders };
    return { region, regionUrls, allowedHosts, destinations, publicUrl, proxies, limits };
  } catch (error) {
    throw error instanceof ConfigError ? new CommandFailure("usage", error.message) : error;
  }
}

/** What `sluice dev --json` prints in one line when it is ready. */
interface DevReady {
  readonly url: string;
  readonly dashboardUrl: string;
  readonly adminToken: string;
  readonly writeKey: string;
  readonly sourceId: string;
}

/** What `sluice dev` prints when it is ready: addresses, keys and snippets. */
export function welcome(
  ready: DevReady,
  dataDirectory: string,
  { style, invocation }: Pick<Io, "style" | "invocation">,
): string {
  const { url, dashboardUrl, writeKey, adminToken, sourceId } = ready;
  const { bold, dim, cyan } = style;
  return `
  ${bold("Sluice")} is ready. ${dim(`Data folder: ${terminalText(dataDirectory)}`)}

  ${bold("Dashboard")}  ${cyan(dashboardUrl)}
  ${bold("API")}        ${cyan(url)}  ${dim(`(documentation: ${url}/api/v1/docs)`)}
  ${bold("Write key")}  ${writeKey}

  ${bold("For your shell")}  ${dim("used by the examples in the documentation")}

    export SLUICE_URL=${url} SLUICE_WRITE_KEY=${writeKey} SLUICE_SOURCE_ID=${sourceId}
    export SLUICE_ADMIN_TOKEN=${adminToken}

  ${bold("From Node.js")}  ${dim("see README.md for how to install @sluice/node")}

    import { Analytics } from "@sluice/node";

    const analytics = new Analytics({ writeKey: "${writeKey}", host: "${url}" });
    analytics.track({ userId: "42", event: "Signed Up", properties: { plan: "pro" } });
    await analytics.close();

  ${bold("From a shell")}

    curl ${url}/v1/track -u ${writeKey}: -H 'Content-Type: application/json' \\
      -d '{"userId":"42","event":"Signed Up","properties":{"plan":"pro"}}'

  ${bold("To a webhook")}

    ${invocation} destinations create --webhook http://127.0.0.1:3000 --secret "a secret of your own"

  ${dim(`Press Ctrl-C to stop. \`${invocation} send track --event Test\` sends a message, \`${invocation} tail\` shows what arrives.`)}

`;
}
