import { openSqliteStore } from "@sluice/event-log";
import { systemClock } from "@sluice/resilience";
import { startCollector } from "../../src/collector.js";
import { createLogger } from "../../src/process/telemetry/logger.js";

/**
 * A collector that is killed the moment that a keyed request's write is on disk, before it can answer:
 * `answerless-collector.ts FOLDER`. Prints where it listens, as JSON.
 */
const [directory] = process.argv.slice(2);
if (directory === undefined) throw new Error("the data folder is missing");
const store = await openSqliteStore({ directory, clock: systemClock });
const collector = await startCollector({
  mode: "dev",
  host: "127.0.0.1",
  port: 0,
  dataDirectory: directory,
  logger: createLogger({ level: "error" }),
  store: {
    ...store,
    config: {
      ...store.config,
      async putAll(puts) {
        await store.config.putAll(puts);
        process.kill(process.pid, "SIGKILL");
        return new Promise(() => {});
      },
    },
  },
});
process.stdout.write(`${JSON.stringify({ url: collector.url, ...collector.firstRun })}\n`);
