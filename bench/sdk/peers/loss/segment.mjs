import { Analytics } from "@segment/analytics-node";

export function open(url, lost) {
  const analytics = new Analytics({ writeKey: "k", host: url, path: "/v1/batch" });
  return {
    track: (call, number) => analytics.track(call, (error) => error && lost(number)),
    close: () => analytics.closeAndFlush({ timeout: 90_000 }),
  };
}
