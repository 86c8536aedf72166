import { startCollector } from "../collector.js";
import { collectorOptions } from "../collector-options.js";
import { ConfigError, loadConfig } from "./config.js";
import { runUntilSignal } from "./run-until-signal.js";
import { createLogger } from "./telemetry/logger.js";

/** Runs the collector as its own process, configured by environment and file. Exit code 0 after a signal, 2 if it cannot start. */
async function main(): Promise<number> {
  try {
    const config = loadConfig();
    const logger = createLogger({ level: config.logLevel, format: config.logFormat });
    const collector = await startCollector(collectorOptions(config, logger));
    const { url, region } = collector;
    logger.info("ready", { url, ...(region === undefined ? {} : { region }) });
    await runUntilSignal(collector, logger, config.closeGraceMs);
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof ConfigError ? error.message : String(error)}\n`);
    return 2;
  }
}

process.exitCode = await main();
