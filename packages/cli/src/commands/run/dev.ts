import { readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isRegion, REGIONS, type Region } from "@sluice/protocol";
import type { Command } from "commander";
import { readPort } from "../../arguments/numbers.js";
import { DEV_DATA_DIR, LISTENING_FILE } from "../../connection/connection.js";
import { examples, newCommand } from "../../definition/command.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";

/** How long requests and deliveries under way may go on after SIGTERM: the process is to be gone within 10 s. */
const CLOSE_GRACE_MS = 8_000;

interface DevOptions {
  readonly port: string;
  readonly host: string;
  readonly dataDir: string;
  readonly region?: string;
  readonly verbose?: boolean;
  readonly json?: boolean;
}

/** What `sluice dev --json` prints, one line, when it is ready. */
export interface DevReady {
  readonly url: string;
  readonly dashboardUrl: string;
  readonly adminToken: string;
  readonly writeKey: string;
  readonly sourceId: string;
}

export function devCommand(io: Io): Command {
  const command = newCommand("dev", "run a collector with its dashboard on this machine, ready to use")
    .option("--port <port>", "the port to listen on; 0 for any free one", "8787")
    .option("--host <address>", "the address to listen on", "127.0.0.1")
    .option("--data-dir <folder>", "the folder in which everything is kept", DEV_DATA_DIR)
    .option("--region <region>", `the region to run as: ${REGIONS.join(", ")} (SLUICE_REGION)`)
    .option("--verbose", "log every step on stderr, not only what is wrong")
    .action((options: DevOptions) => dev(options, io));
  return examples(command, [
    ["Collector and dashboard, with a first source; data is kept in ./.sluice", "sluice dev"],
    [
      "For a test: any free port, a folder of its own, one line of JSON when ready",
      "sluice dev --port 0 --data-dir /tmp/events --json",
    ],
  ]);
}

async function dev(options: DevOptions, io: Io): Promise<void> {
  const port = readPort(options.port);
  if (options.region !== undefined && !isRegion(options.region))
    throw new CommandFailure("usage", `--region must be one of ${REGIONS.join(", ")}, got ${options.region}`);
  const dataDirectory = resolve(io.cwd, options.dataDir);
  const { createLogger, startCollector, ...collectorApi } = await import("@sluice/collector");
  const environment = readEnvironment(collectorApi, io);
  const region = options.region ?? environment.region;
  const logger = createLogger({
    level: options.verbose === true || options.json === true ? "info" : "warn",
    format: "pretty",
    write: (line) => io.err(line),
  });
  const collector = await startCollector({
    mode: "dev",
    host: options.host,
    port,
    dataDirectory,
    ...(region === undefined ? {} : { region }),
    regionUrls: environment.regionUrls,
    allowedHosts: environment.allowedHosts,
    ...(io.env.SLUICE_SECRET_KEY === undefined ? {} : { secretKey: io.env.SLUICE_SECRET_KEY }),
    logger,
    // Receivers under development are on this machine.
    allowTargets: ["127.0.0.0/8", "::1/128", "localhost"],
  }).catch(async (error: unknown) => {
    throw startFailure(error, port, dataDirectory, await runningHere(dataDirectory));
  });
  const listening = join(dataDirectory, LISTENING_FILE);
  try {
    const { firstRun } = collector;
    if (firstRun === undefined) throw new Error("The collector made no first source");
    const ready: DevReady = {
      url: collector.url,
      dashboardUrl: `${collector.url}/#token=${encodeURIComponent(firstRun.adminToken)}`,
      adminToken: firstRun.adminToken,
      writeKey: firstRun.writeKey,
      sourceId: firstRun.sourceId,
    };
    // Not over what stands there: a link that came with a repository would lead the write elsewhere.
    await rm(listening, { force: true });
    await writeFile(listening, `${JSON.stringify({ url: collector.url, pid: process.pid })}\n`, {
      mode: 0o600,
      flag: "wx",
    });
    await io.out(options.json ? `${terminalJson(ready)}\n` : welcome(ready, dataDirectory, io));
    await untilInterrupted(io);
    if (!options.json) io.err(`${io.errStyle.dim("Closing: what was accepted is on disk.")}\n`);
  } finally {
    await rm(listening, { force: true });
    await collector.close(CLOSE_GRACE_MS);
  }
}

/** The regions, and the names to answer under: the same variables as in production. */
function readEnvironment(
  { ConfigError, loadConfig }: Pick<typeof import("@sluice/collector"), "ConfigError" | "loadConfig">,
  { env }: Io,
): {
  readonly region: Region | undefined;
  readonly regionUrls: Readonly<Partial<Record<Region, string>>>;
  readonly allowedHosts: readonly string[];
} {
  const { SLUICE_REGION, SLUICE_OREGON_URL, SLUICE_DUBLIN_URL, SLUICE_ALLOWED_HOSTS } = env;
  try {
    const { region, oregonUrl, dublinUrl, allowedHosts } = loadConfig({
      env: { SLUICE_REGION, SLUICE_OREGON_URL, SLUICE_DUBLIN_URL, SLUICE_ALLOWED_HOSTS },
    });
    return {
      region,
      regionUrls: {
        ...(oregonUrl === undefined ? {} : { oregon: oregonUrl }),
        ...(dublinUrl === undefined ? {} : { dublin: dublinUrl }),
      },
      allowedHosts,
    };
  } catch (error) {
    throw error instanceof ConfigError ? new CommandFailure("usage", error.message) : error;
  }
}

function untilInterrupted({ interrupted }: Io): Promise<void> {
  return new Promise((done) => {
    if (interrupted.aborted) done();
    else interrupted.addEventListener("abort", () => done(), { once: true });
  });
}

interface Running {
  readonly url: string;
  readonly pid: number;
}

/** What the `sluice dev` that uses this folder wrote about itself. */
async function runningHere(dataDirectory: string): Promise<Running | undefined> {
  try {
    return JSON.parse(await readFile(join(dataDirectory, LISTENING_FILE), "utf8")) as Running;
  } catch {
    // No such file, or half of one: there is nothing to tell.
    return undefined;
  }
}

function startFailure(
  error: unknown,
  port: number,
  dataDirectory: string,
  running: Running | undefined,
): unknown {
  if (error instanceof Error && error.message.includes("in use by another process"))
    return new CommandFailure(
      "failed",
      running === undefined
        ? `The data folder ${dataDirectory} is in use by another process`
        : `sluice already runs on this data folder, at ${running.url} (process ${running.pid})`,
      "Use that one, or give this one a folder of its own with `--data-dir`",
    );
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === "EADDRINUSE")
    return new CommandFailure(
      "failed",
      `Port ${port} is taken`,
      "Another sluice may be running. `--port 0` takes any free port",
    );
  if (code === "EACCES" || code === "EPERM")
    return new CommandFailure("failed", `${dataDirectory} or port ${port} may not be used: ${code}`);
  return error;
}

function welcome(ready: DevReady, dataDirectory: string, { style }: Io): string {
  const { url, dashboardUrl, writeKey, adminToken, sourceId } = ready;
  const { bold, dim, cyan } = style;
  return `
  ${bold("Sluice")} is ready. ${dim(`Data is kept in ${terminalText(dataDirectory)}`)}

  ${bold("Dashboard")}  ${cyan(dashboardUrl)}
  ${bold("API")}        ${cyan(url)}  ${dim(`(described at ${url}/api/v1/docs)`)}
  ${bold("Write key")}  ${writeKey}

  ${bold("For your shell")}  ${dim("what the documents' examples use")}

    export SLUICE_URL=${url} SLUICE_WRITE_KEY=${writeKey} SLUICE_SOURCE_ID=${sourceId}
    export SLUICE_ADMIN_TOKEN=${adminToken}

  ${bold("From Node.js")}  ${dim("README says how to install @sluice/node")}

    import { Analytics } from "@sluice/node";

    const analytics = new Analytics({ writeKey: "${writeKey}", host: "${url}" });
    analytics.track({ userId: "42", event: "Signed Up", properties: { plan: "pro" } });
    await analytics.close();

  ${bold("From a shell")}

    curl ${url}/v1/track -u ${writeKey}: -H 'Content-Type: application/json' \\
      -d '{"userId":"42","event":"Signed Up","properties":{"plan":"pro"}}'

  ${bold("To a webhook")}

    npx sluice destinations create --webhook http://127.0.0.1:3000 --secret "a secret of your own"

  ${dim("Ctrl-C ends it. `npx sluice send track --event Test` sends one, `npx sluice tail` shows what comes.")}

`;
}
