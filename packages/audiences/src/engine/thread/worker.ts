import { parentPort, workerData } from "node:worker_threads";
import { openSqliteProfileStore } from "@sluice/event-log";
import type { EngineThreadData } from "./calls.js";
import { serveEngine } from "./serve-engine.js";

/** The thread of audiences: the engine and its SQLite file, away from the thread that answers requests. */
if (parentPort === null) throw new Error("This file runs only as a worker thread");
const data = workerData as EngineThreadData;
serveEngine(parentPort, data, (notify) => {
  const store = openSqliteProfileStore({
    directory: data.directory,
    onSetAside(setAside, when) {
      const isEnding = when === "later";
      notify({ setAside, isEnding });
      if (isEnding) setImmediate(() => process.exit());
    },
  });
  // An unexpected error, such as JSON that cannot be parsed, may be damage that SQLite does not notice.
  return { store, onUnexpected: () => store.checkWhole() };
});
