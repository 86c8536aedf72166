/**
 * Runs the built collector with one source and no destination, on a new data folder, or on the folder that its argument names (to
 * measure it with many stored messages). Sends `{port, writeKey}` when it is ready.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importBuilt } from "../build.mjs";
import { answerCpuTime } from "./cpu-time.mjs";

const { createLogger, startCollector } = await importBuilt("apps/collector/dist/index.js");

const [folder] = process.argv.slice(2);
const dataDirectory = folder ?? mkdtempSync(join(tmpdir(), "sluice-ingest-"));
const collector = await startCollector({
  mode: "dev",
  host: "127.0.0.1",
  port: 0,
  dataDirectory,
  logger: createLogger({ level: "error" }),
});
process.on("SIGTERM", async () => {
  await collector.close(1_000);
  if (folder === undefined) rmSync(dataDirectory, { recursive: true, force: true });
  process.exit(0);
});
answerCpuTime();
process.send({ port: collector.port, writeKey: collector.firstRun.writeKey });
