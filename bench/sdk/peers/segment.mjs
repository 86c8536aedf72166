import { Analytics } from "@segment/analytics-node";

export function open(url) {
  const analytics = new Analytics({ writeKey: "bench", host: url, path: "/v1/batch", maxEventsInBatch: 100 });
  return {
    track: (call) => analytics.track(call),
    close: () => analytics.closeAndFlush({ timeout: 60_000 }),
  };
}
