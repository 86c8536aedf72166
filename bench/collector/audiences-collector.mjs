/** The built collector on a data folder that is kept. Arguments: the folder. */
// @boundaries-ignore a bench measures the collector from within
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
