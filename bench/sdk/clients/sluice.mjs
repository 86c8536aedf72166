import { importBuilt } from "../../build.mjs";

const { Analytics } = await importBuilt("packages/node/dist/index.js");

/** Batches of 100 like all clients here, and a queue that is large enough for every round. */
export function open(url, options = {}) {
  const analytics = new Analytics({
    writeKey: "bench",
    host: url,
    flushAt: 100,
    maxQueueSize: 1_000_000,
    maxQueueBytes: 1_000_000_000,
    ...options,
  });
  return { track: analytics.track, close: () => analytics.close(), stats: analytics.stats };
}
