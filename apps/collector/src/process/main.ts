import { collectorOptions } from "../collector-options.js";
import { startConfigured } from "../start-configured.js";
import { ConfigError, loadConfig } from "./config.js";
import { defined } from "./defined.js";
import { runUntilSignal } from "./run-until-signal.js";
import { logOutput } from "./telemetry/log-output.js";
import { createLogger } from "./telemetry/logger.js";

/** Runs the collector as its own process, configured by environment and file. Exit code 0 after a signal, 2 if it cannot start. */
async function main(): Promise<number> {
  try {
    const config = loadConfig();
    const logger = createLogger({
      level: config.logLevel,
      ...logOutput(config.logFormat, process.stderr, process.env),
    });
    const collector = await startConfigured(config, collectorOptions(config, logger));
    const { url, adminUrl, publicUrl, region } = collector;
    // Whoever waits for `ready` may send a signal at once.
    const ended = runUntilSignal(collector, logger, config.closeGraceMs);
    logger.info("ready", {
      url,
      ...defined({ adminUrl: config.adminListen && adminUrl, publicUrl, region }),
    });
    await ended;
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof ConfigError ? error.message : String(error)}\n`);
    return 2;
  }
}

process.exitCode = await main();
