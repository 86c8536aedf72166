import { getAsset } from "node:sea";
import { Worker } from "node:worker_threads";
import { type ThreadRoom, threadLimits } from "./thread-limits.js";

export interface ThreadOptions {
  /** Shown in diagnostics. */
  readonly name: string;
  readonly room: ThreadRoom;
  readonly workerData: unknown;
}

/**
 * Starts a thread from a bundle, or from a TypeScript source when this code itself runs from sources. Node.js strips the types;
 * the repository's loader finds the sources behind `.js` imports and behind our packages' names. In the single executable, the
 * bundle is an asset, with a URL such as `sea:/store-worker.js`.
 */
export function startThread(entry: URL, { name, room, workerData }: ThreadOptions): Worker {
  const isSource = entry.pathname.endsWith(".ts");
  const loader = isSource
    ? ["--import", new URL("../../../../scripts/source-loader.mjs", import.meta.url).href]
    : [];
  const isAsset = entry.protocol === "sea:";
  return new Worker(isAsset ? getAsset(entry.pathname.slice(1), "utf8") : entry, {
    eval: isAsset,
    name,
    resourceLimits: threadLimits(room),
    workerData,
    // Node.js 22 calls its SQLite, and stripping types, experimental.
    execArgv: ["--disable-warning=ExperimentalWarning", ...loader],
  });
}
