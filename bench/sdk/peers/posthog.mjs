import { PostHog } from "posthog-node";

export function open(url) {
  const client = new PostHog("bench", {
    host: url,
    flushAt: 100,
    maxBatchSize: 100,
    maxQueueSize: 1_000_000,
    disableCompression: true,
    disableGeoip: false,
  });
  return {
    track: ({ userId, event, properties, context }) =>
      client.capture({ distinctId: userId, event, properties: { ...properties, context } }),
    close: () => client.shutdown(60_000),
  };
}
