import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { ToWorker } from "../calls/operations.js";
import type { WorkerOptions } from "../calls/tuning.js";
import { StoreServer } from "./store-server.js";

/** The store's worker thread. Only this thread uses the database. */
if (parentPort === null) throw new Error("This file runs only in a worker thread");
const port = parentPort;
const server = new StoreServer(
  {
    post: (message, transfer) => port.postMessage(message, transfer),
    receive: () => receiveMessageOnPort(port)?.message as ToWorker | undefined,
    close: () => port.close(),
  },
  workerData as WorkerOptions,
);
port.on("message", (message: ToWorker) => server.serve(message));
