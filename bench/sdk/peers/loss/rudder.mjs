import RudderAnalytics from "@rudderstack/rudder-sdk-node";

export function open(url, lost) {
  const analytics = new RudderAnalytics("k", {
    dataPlaneUrl: `${url}/v1/batch`,
    gzip: false,
    logLevel: "error",
  });
  return {
    track: (call, number) => analytics.track(call, (error) => error && lost(number)),
    close: async () => {
      // Its flush rejects if a batch fails, so every caller has to catch.
      while (analytics.queue.length > 0) await analytics.flush().catch(() => {});
    },
  };
}
