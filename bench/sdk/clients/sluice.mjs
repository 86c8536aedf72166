import { Analytics } from "@sluice/node";

/** Batches of 100 as all others here; room for whatever the rounds offer at once. */
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
