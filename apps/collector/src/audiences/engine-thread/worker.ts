import { parentPort, workerData } from "node:worker_threads";
import { openSqliteProfileStore } from "../../store/sqlite/profiles.js";
import { AudienceEngine } from "../engine.js";
import type { EngineThreadOptions } from "./calls.js";
import { serveEngine } from "./serve-engine.js";

/** The thread of audiences: the engine and its SQLite file, away from the thread that answers requests. */
if (parentPort === null) throw new Error("this file is a worker's");
const { directory, ...options } = workerData as EngineThreadOptions;
serveEngine(new AudienceEngine(openSqliteProfileStore({ directory }), options), parentPort);
