import { rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isRegion, REGIONS, type Region } from "@sluice/protocol";
import type { Command } from "commander";
import { definedFields } from "../../arguments/defined-fields.js";
import { readPort } from "../../arguments/numbers.js";
import { DEV_DATA_DIR, LISTENING_FILE } from "../../connection/connection.js";
import { examples, newCommand } from "../../definition/command.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";
import { terminalJson } from "../../terminal/terminal-text.js";
import { untilAborted } from "../../terminal/until-aborted.js";
import { devFailure } from "./dev-failure.js";
import { type DevReady, welcome } from "./dev-welcome.js";

type CollectorApi = typeof import("@sluice/collector");
type Collector = Awaited<ReturnType<CollectorApi["startCollector"]>>;

/** How long requests and deliveries may take to finish after a signal. The process must end within 10 s. */
const CLOSE_GRACE_MS = 8_000;

interface DevOptions {
  readonly port: string;
  readonly host: string;
  readonly dataDir: string;
  readonly region?: string;
  readonly verbose?: boolean;
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
  const collector = await start(options, dataDirectory, io);
  const listeningFile = join(dataDirectory, LISTENING_FILE);
  try {
    const ready = readyOf(collector);
    // A symbolic link that came with a repository would redirect the write, so an existing file is removed first.
    await rm(listeningFile, { force: true });
    await writeFile(listeningFile, `${JSON.stringify({ url: collector.url, pid: process.pid })}\n`, {
      mode: 0o600,
      flag: "wx",
    });
    await io.out(options.json ? `${terminalJson(ready)}\n` : welcome(ready, dataDirectory, io));
    await untilAborted(io.interrupted);
    if (!options.json) io.err(`${io.errStyle.dim("Closing. All accepted messages are stored.")}\n`);
  } finally {
    await rm(listeningFile, { force: true });
    await collector.close(CLOSE_GRACE_MS);
  }
}

async function start(options: DevOptions, dataDirectory: string, io: Io): Promise<Collector> {
  const { host } = options;
  const port = readPort(options.port);
  if (options.region !== undefined && !isRegion(options.region))
    throw new CommandFailure("usage", `--region must be one of ${REGIONS.join(", ")}, got ${options.region}`);
  const { createLogger, startCollector, ...collectorApi } = await import("@sluice/collector");
  const environment = readEnvironment(collectorApi, io);
  const logger = createLogger({
    level: options.verbose === true || options.json === true ? "info" : "warn",
    format: "pretty",
    write: (line) => io.err(line),
  });
  return await startCollector({
    mode: "dev",
    host,
    port,
    dataDirectory,
    ...definedFields({ region: options.region ?? environment.region, secretKey: io.env.SLUICE_SECRET_KEY }),
    regionUrls: environment.regionUrls,
    allowedHosts: environment.allowedHosts,
    logger,
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
}

/** Reads regions and host names from the same variables as in production. */
function readEnvironment(
  { ConfigError, loadConfig }: Pick<CollectorApi, "ConfigError" | "loadConfig">,
  { env }: Io,
): DevEnvironment {
  const { SLUICE_REGION, SLUICE_OREGON_URL, SLUICE_DUBLIN_URL, SLUICE_ALLOWED_HOSTS } = env;
  try {
    const { region, oregonUrl, dublinUrl, allowedHosts } = loadConfig({
      env: { SLUICE_REGION, SLUICE_OREGON_URL, SLUICE_DUBLIN_URL, SLUICE_ALLOWED_HOSTS },
    });
    const regionUrls = definedFields({ oregon: oregonUrl, dublin: dublinUrl });
    return { region, regionUrls, allowedHosts };
  } catch (error) {
    throw error instanceof ConfigError ? new CommandFailure("usage", error.message) : error;
  }
}
