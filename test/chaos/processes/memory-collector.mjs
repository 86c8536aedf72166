/** The collector with the store in memory: `node memory-collector.mjs --data-dir FOLDER`. Prints the line that `sluice dev --json` prints. */
import { parseArgs } from "node:util";
import { createLogger, runUntilSignal, startCollector } from "@sluice/collector";
import { openMemoryStore } from "@sluice/event-log";
import { systemClock } from "@sluice/resilience";

const { values } = parseArgs({ options: { "data-dir": { type: "string" } } });
const logger = createLogger({ write: (line) => process.stderr.write(line) });
const collector = await startCollector({
  mode: "dev",
  host: "127.0.0.1",
  port: 0,
  dataDirectory: values["data-dir"],
  logger,
  store: openMemoryStore({ clock: systemClock }),
  allowTargets: ["127.0.0.0/8"],
});
process.stdout.write(`${JSON.stringify({ url: collector.url, ...collector.firstRun })}\n`);
await runUntilSignal(collector, logger, 8_000);
