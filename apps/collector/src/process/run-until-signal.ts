import type { ConfiguredCollector } from "../start-configured.js";
import type { Logger } from "./telemetry/logger.js";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/**
 * Waits for SIGTERM, SIGINT or SIGHUP, then closes the collector; acknowledged messages are on disk. A second signal ends the process
 * at once. Rejects if closing fails, or if the collector has to end by itself.
 */
export async function runUntilSignal(
  collector: ConfiguredCollector,
  logger: Logger,
  graceMs: number,
): Promise<void> {
  const signalled = new Promise<NodeJS.Signals>((resolve) => {
    for (const name of SIGNALS) process.once(name, () => resolve(name));
  });
  const signal = await Promise.race([signalled, collector.failed ?? signalled]).catch(
    async (error: unknown) => {
      await collector.close(graceMs);
      throw error;
    },
  );
  logger.info("closing", { signal, graceMs });
  for (const name of SIGNALS) process.once(name, () => process.exit(1));
  await collector.close(graceMs);
  logger.info("closed");
}
