import { PostHog } from "posthog-node";

/** It tells an error, not the messages concerned: each error counts as one thing told of an unknown message. */
export function open(url, lost) {
  const client = new PostHog("k", { host: url });
  client.on("error", () => lost("unknown"));
  return {
    track: ({ userId, event, properties }) => client.capture({ distinctId: userId, event, properties }),
    close: () => client.shutdown(90_000),
  };
}
