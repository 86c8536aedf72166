import Analytics from "analytics-node";

export function open(url, lost) {
  const analytics = new Analytics("k", { host: url, path: "/v1/batch" });
  return {
    track: (call, number) => analytics.track(call, (error) => error && lost(number)),
    close: async () => {
      // Its flush rejects if a batch fails, so every caller has to catch.
      while (analytics.queue.length > 0) await analytics.flush().catch(() => {});
    },
  };
}
