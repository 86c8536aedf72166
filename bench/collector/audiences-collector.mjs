/** Runs the built collector on a data folder and keeps the folder. Arguments: the folder. */
// @boundaries-ignore benchmarks measure the collector from within
import { createLogger, startCollector } from "../../apps/collector/dist/index.js";

const collector = await startCollector({
  mode: "dev",
  host: "127.0.0.1",
  port: 0,
  dataDirectory: process.argv[2],
  logger: createLogger({ level: "error" }),
  allowTargets: ["127.0.0.0/8"],
});
const { adminToken, writeKey } = collector.firstRun;
process.send({ url: collector.url, port: collector.port, writeKey, adminToken });
process.on("message", () => process.send({ rssBytes: process.memoryUsage.rss() }));
process.on("SIGTERM", async () => {
  await collector.close(1_000);
  process.exit(0);
});
