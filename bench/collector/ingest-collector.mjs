/** The collector as it is built, on a data folder of its own, with one source and no destination. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
// @boundaries-ignore a bench measures the collector from within
import { createLogger, startCollector } from "../../apps/collector/dist/index.js";

const dataDirectory = mkdtempSync(join(tmpdir(), "sluice-ingest-"));
const collector = await startCollector({
  mode: "dev",
  host: "127.0.0.1",
  port: 0,
  dataDirectory,
  logger: createLogger({ level: "error" }),
});
process.stdout.write(`${JSON.stringify({ port: collector.port, writeKey: collector.firstRun.writeKey })}\n`);
process.on("SIGTERM", async () => {
  await collector.close(1_000);
  rmSync(dataDirectory, { recursive: true, force: true });
  process.exit(0);
});
