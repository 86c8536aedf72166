import { parentPort, workerData } from "node:worker_threads";
import { openSqliteProfileStore } from "@sluice/event-log";
import { AudienceEngine } from "../engine.js";
import type { EngineThreadOptions, Notice } from "./calls.js";
import { serveEngine } from "./serve-engine.js";

/** The thread of audiences: the engine and its SQLite file, away from the thread that answers requests. */
if (parentPort === null) throw new Error("this file is a worker's");
const port = parentPort;
const { directory, ...options } = workerData as EngineThreadOptions;
const profiles = openSqliteProfileStore({
  directory,
  onSetAside(keptAs, when) {
    const isEnding = when === "later";
    port.postMessage({ setAside: keptAs, isEnding } satisfies Notice);
    if (isEnding) setImmediate(() => process.exit());
  },
});
// JSON that cannot be read, for one: the file may be damaged where SQLite does not see it.
serveEngine(new AudienceEngine(profiles, options), port, { onUnexpected: () => profiles.checkWhole() });
