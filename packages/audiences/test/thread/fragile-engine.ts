import { parentPort, workerData } from "node:worker_threads";
import { openSqliteProfileStore, type ProfileStore } from "@sluice/event-log";
import type { EngineThreadData } from "../../src/engine/thread/calls.js";
import { serveEngine } from "../../src/engine/thread/serve-engine.js";

/** The engine's thread, which runs out of memory when it stores a profile with the trait `poison`. */
if (parentPort === null) throw new Error("This file runs only as a worker thread");
const data = workerData as EngineThreadData;
serveEngine(parentPort, data, () => {
  const store = openSqliteProfileStore(data);
  const fragile: ProfileStore = {
    ...store,
    commit: (change) => {
      const hoard: unknown[] = [];
      while (change.profiles?.some(({ body }) => body.includes('"poison"')))
        hoard.push(new Array(100_000).fill({}));
      return store.commit(change);
    },
  };
  return { store: fragile };
});
