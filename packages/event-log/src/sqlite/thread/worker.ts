import { parentPort, workerData } from "node:worker_threads";
import type { ToWorker } from "../calls/operations.js";
import type { WorkerOptions } from "../calls/tuning.js";
import { StoreServer, storePort } from "./store-server.js";

/** The store's worker thread. Only this thread uses the database. */
if (parentPort === null) throw new Error("This file runs only in a worker thread");
const server = new StoreServer(storePort(parentPort), workerData as WorkerOptions);
parentPort.on("message", (message: ToWorker) => server.serve(message));
