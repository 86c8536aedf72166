import { startCollector } from "../../src/collector.js";
import { createLogger } from "../../src/process/telemetry/logger.js";

/** A collector in a process of its own, to be killed: `collector-child.ts FOLDER`. Prints where it listens, as JSON. */
const [directory] = process.argv.slice(2);
if (directory === undefined) throw new Error("the data folder is missing");
const collector = await startCollector({
  mode: "dev",
  host: "127.0.0.1",
  port: 0,
  dataDirectory: directory,
  logger: createLogger({ level: "error" }),
  allowTargets: ["127.0.0.0/8"],
});
process.stdout.write(`${JSON.stringify({ url: collector.url, ...collector.firstRun })}\n`);
