import { Worker } from "node:worker_threads";
import { type ThreadRoom, threadLimits } from "../thread-limits.js";
import type { WorkerOptions } from "./tuning.js";

/** What it keeps (indexes, filters, SQLite's pages) is outside of the heap; a long answer to a search is what takes most within. */
const ROOM: ThreadRoom = { youngMb: 24, oldMb: 512 };

/**
 * Lets Node.js run the worker from its sources: it strips the types by itself, but our imports name the `.js` files that
 * the build makes. Only used where this file itself is a source.
 */
const RESOLVE_SOURCES = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({
    resolve(specifier, context, next) {
      const isSource = /^\\.\\.?\\//.test(specifier) && context.parentURL?.endsWith(".ts");
      return next(isSource ? specifier.replace(/\\.js$/, ".ts") : specifier, context);
    },
  });
`)}`;

/** Starts the store's thread, from the bundle or from the sources, whichever this code is part of. */
export function startWorker(options: WorkerOptions): Worker {
  const isSource = import.meta.url.endsWith(".ts");
  return new Worker(new URL(isSource ? "./worker/worker.ts" : "./store-worker.js", import.meta.url), {
    name: "sluice-store",
    resourceLimits: threadLimits(ROOM),
    workerData: options,
    // Node.js 22 says of its SQLite, and of stripping types, that they are experimental.
    execArgv: ["--disable-warning=ExperimentalWarning", ...(isSource ? ["--import", RESOLVE_SOURCES] : [])],
  });
}
