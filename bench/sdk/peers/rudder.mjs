import RudderAnalytics from "@rudderstack/rudder-sdk-node";

export function open(url) {
  const analytics = new RudderAnalytics("bench", {
    dataPlaneUrl: `${url}/v1/batch`,
    flushAt: 100,
    maxQueueSize: 1e12,
    gzip: false,
    logLevel: "error",
  });
  return {
    track: (call) => analytics.track(call),
    close: async () => {
      while (analytics.queue.length > 0) await analytics.flush();
      await new Promise((resolve) => setTimeout(resolve, 500));
    },
  };
}
