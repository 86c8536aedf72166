import { parentPort, workerData } from "node:worker_threads";
import { openSqliteProfileStore } from "@sluice/event-log";
import { AudienceEngine } from "../../src/engine/engine.js";
import type { EngineThreadOptions } from "../../src/engine/thread/calls.js";
import { serveEngine } from "../../src/engine/thread/serve-engine.js";

/** The engine's thread, which runs out of memory when it stores a profile with the trait `poison`. */
if (parentPort === null) throw new Error("this file is a worker's");
const { directory, ...options } = workerData as EngineThreadOptions;
const store = openSqliteProfileStore({ directory });
const fragile: typeof store = {
  ...store,
  commit: (change) => {
    const hoard: unknown[] = [];
    while (change.profiles?.some(({ body }) => body.includes('"poison"')))
      hoard.push(new Array(100_000).fill({}));
    return store.commit(change);
  },
};
serveEngine(new AudienceEngine(fragile, options), parentPort);
