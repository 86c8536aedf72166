import { parentPort, workerData } from "node:worker_threads";
import { serveDelivery } from "../delivery/workers/serve-delivery.js";
import type { DeliveryThreadData } from "../delivery/workers/thread-api.js";
import type { IngestThreadData } from "./ingest-thread.js";
import { serveIngest } from "./serve-ingest.js";

/** A thread that delivers, and takes requests if the system can deal them out. */
if (parentPort === null) throw new Error("This file runs only as a worker thread");
serveDelivery(parentPort, workerData as DeliveryThreadData, (companion, parts) =>
  serveIngest(companion as IngestThreadData, parts),
);
