import type { Worker } from "node:worker_threads";
import { startThread, type ThreadRoom } from "@sluice/resilience/node";
import type { WorkerOptions } from "../calls/tuning.js";

/** Indexes, filters and SQLite's pages are outside the heap. Inside it, long search results take the most. */
const ROOM: ThreadRoom = { youngMb: 24, oldMb: 512 };

/** Starts the store's thread. */
export function startWorker(options: WorkerOptions): Worker {
  const isSource = import.meta.url.endsWith(".ts");
  const entry = new URL(isSource ? "../thread/worker.ts" : "./store-worker.js", import.meta.url);
  return startThread(entry, { name: "sluice-store", room: ROOM, workerData: options });
}
