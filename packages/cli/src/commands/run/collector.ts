import { resolve } from "node:path";
import type { Command } from "commander";
import { definedFields } from "../../arguments/defined-fields.js";
import { examples, newCommand } from "../../definition/command.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import { listenFailure } from "../../failures/listen-failure.js";
import type { Io } from "../../terminal/io.js";
import { terminalJson } from "../../terminal/terminal-text.js";
import { untilAborted } from "../../terminal/until-aborted.js";

interface CollectorCommandOptions {
  readonly config?: string;
  readonly port?: string;
  readonly host?: string;
  readonly dataDir?: string;
  readonly region?: string;
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
    .option("--data-dir <folder>", "the folder for all data (SLUICE_DATA_DIR)")
    .option("--region <region>", "the region to run as (SLUICE_REGION)")
    .action((options: CollectorCommandOptions) => runCollector(options, io));
  return examples(command, [
    [
      "On all addresses, with your own admin token",
      "SLUICE_ADMIN_TOKEN=… sluice collector --host 0.0.0.0 --data-dir /var/lib/sluice",
    ],
    ["With a file of settings", "sluice collector --config /etc/sluice.json"],
  ]);
}

async function runCollector(options: CollectorCommandOptions, io: Io): Promise<void> {
  const { ConfigError, collectorOptions, createLogger, loadConfig, startCollector } = await import(
    "@sluice/collector"
  );
  const { config: file, json, ...flags } = options;
  const config = (() => {
    try {
      return loadConfig({
        flags,
        env: io.env,
        ...definedFields({ file: file === undefined ? undefined : resolve(io.cwd, file) }),
      });
    } catch (error) {
      throw error instanceof ConfigError ? new CommandFailure("usage", error.message) : error;
    }
  })();
  const { logLevel, logFormat, host, port, closeGraceMs } = config;
  const logger = createLogger({ level: logLevel, format: logFormat, write: (line) => io.err(line) });
  const collector = await startCollector(collectorOptions(config, logger, io.env)).catch((error: unknown) => {
    throw listenFailure(error, host, port);
  });
  const { url, region } = collector;
  const ready = { url, ...definedFields({ region }) };
  if (json) await io.out(`${terminalJson(ready)}\n`);
  logger.info("ready", ready);
  await untilAborted(io.interrupted);
  logger.info("closing", { graceMs: closeGraceMs });
  await collector.close(closeGraceMs);
  logger.info("closed");
}
