import type { Collector } from "../collector.js";
import type { Logger } from "./telemetry/logger.js";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/**
 * Waits for SIGTERM, SIGINT or SIGHUP, then closes the collector; acknowledged messages are on disk. A second signal ends the process
 * at once. Rejects if closing fails.
 */
export async function runUntilSignal(collector: Collector, logger: Logger, graceMs: number): Promise<void> {
  const signal = await new Promise<NodeJS.Signals>((resolve) => {
    for (const name of SIGNALS) process.once(name, () => resolve(name));
  });
  logger.info("closing", { signal, graceMs });
  for (const name of SIGNALS) process.once(name, () => process.exit(1));
  await collector.close(graceMs);
  logger.info("closed");
}
