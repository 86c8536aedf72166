import { parentPort, workerData } from "node:worker_threads";
import { serveDelivery } from "./serve-delivery.js";
import type { DeliveryThreadData } from "./thread-api.js";

/** A thread that delivers. */
if (parentPort === null) throw new Error("This file runs only as a worker thread");
serveDelivery(parentPort, workerData as DeliveryThreadData);
