import type { Collector } from "../collector.js";
import type { Logger } from "./logger.js";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/**
 * Resolves when SIGTERM, SIGINT or SIGHUP came and the collector is closed, with what was acknowledged on disk; a second
 * signal ends the process at once. Rejects when closing failed.
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
