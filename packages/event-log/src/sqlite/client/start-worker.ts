import type { Transferable } from "node:worker_threads";
import { startThread, type ThreadRoom } from "@sluice/resilience/node";
import type { FromWorker, ToWorker } from "../calls/operations.js";
import type { WorkerOptions } from "../calls/tuning.js";

/** Indexes, filters and SQLite's pages are outside the heap. Inside it, long search results take the most. */
const ROOM: ThreadRoom = { youngMb: 24, oldMb: 512 };

/** The store's thread, as the connection sees it. */
export interface StoreThread {
  on(event: "message", listener: (message: FromWorker) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "exit", listener: () => void): unknown;
  postMessage(message: ToWorker, transfer?: Transferable[]): void;
  terminate(): Promise<unknown>;
}

export type StartStoreThread = (options: WorkerOptions) => StoreThread;

/** Starts the store's thread. */
export const startWorker: StartStoreThread = (options) => {
  const isSource = import.meta.url.endsWith(".ts");
  const entry = new URL(isSource ? "../thread/worker.ts" : "./store-worker.js", import.meta.url);
  return startThread(entry, { name: "sluice-store", room: ROOM, workerData: options });
};
