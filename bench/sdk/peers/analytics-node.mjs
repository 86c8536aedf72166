import Analytics from "analytics-node";

export function open(url) {
  const analytics = new Analytics("bench", {
    host: url,
    path: "/v1/batch",
    flushAt: 100,
    maxQueueSize: 1e12,
  });
  return { track: (call) => analytics.track(call), close: () => settle(analytics) };
}

/** Its flush sends one batch, and resolves with the response. */
async function settle(analytics) {
  while (analytics.queue.length > 0) await analytics.flush();
  await new Promise((resolve) => setTimeout(resolve, 500));
}
