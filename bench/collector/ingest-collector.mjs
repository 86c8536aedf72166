/**
 * The collector as it is built, with one source and no destination, on a data folder of its own, or (for figures with much stored) on the
 * one that its argument names.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
// @boundaries-ignore a bench measures the collector from within
import { createLogger, startCollector } from "../../apps/collector/dist/index.js";

const [folder] = process.argv.slice(2);
const dataDirectory = folder ?? mkdtempSync(join(tmpdir(), "sluice-ingest-"));
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
  if (folder === undefined) rmSync(dataDirectory, { recursive: true, force: true });
  process.exit(0);
});
