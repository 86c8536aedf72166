import { resolve } from "node:path";
import type { Command } from "commander";
import { examples, newCommand } from "../../definition/command.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";
import { terminalJson } from "../../terminal/terminal-text.js";

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
    "run a collector in production: configuration from file and environment",
  )
    .option("--config <file>", "a JSON file with settings (SLUICE_CONFIG)")
    .option("--port <port>", "the port to listen on (SLUICE_PORT)")
    .option("--host <address>", "the address to listen on (SLUICE_HOST)")
    .option("--data-dir <folder>", "the folder in which everything is kept (SLUICE_DATA_DIR)")
    .option("--region <region>", "the region to run as (SLUICE_REGION)")
    .action((options: CollectorCommandOptions) => collect(options, io));
  return examples(command, [
    [
      "On every address, with a token of one's own",
      "SLUICE_ADMIN_TOKEN=… sluice collector --host 0.0.0.0 --data-dir /var/lib/sluice",
    ],
    ["With a file of settings", "sluice collector --config /etc/sluice.json"],
  ]);
}

async function collect(options: CollectorCommandOptions, io: Io): Promise<void> {
  const { ConfigError, collectorOptions, createLogger, loadConfig, startCollector } = await import(
    "@sluice/collector"
  );
  const { config: file, json: _json, ...flags } = options;
  const config = (() => {
    try {
      return loadConfig({
        flags,
        env: io.env,
        ...(file === undefined ? {} : { file: resolve(io.cwd, file) }),
      });
    } catch (error) {
      throw error instanceof ConfigError ? new CommandFailure("usage", error.message) : error;
    }
  })();
  const logger = createLogger({
    level: config.logLevel,
    format: config.logFormat,
    write: (line) => io.err(line),
  });
  const collector = await startCollector(collectorOptions(config, logger, io.env));
  const { url, region } = collector;
  const ready = { url, ...(region === undefined ? {} : { region }) };
  if (options.json) await io.out(`${terminalJson(ready)}\n`);
  logger.info("ready", ready);
  await new Promise<void>((done) => {
    if (io.interrupted.aborted) done();
    io.interrupted.addEventListener("abort", () => done(), { once: true });
  });
  logger.info("closing", { graceMs: config.closeGraceMs });
  await collector.close(config.closeGraceMs);
  logger.info("closed");
}
