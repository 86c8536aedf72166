import { Analytics } from "@sluice/node";

export function open(url, lost) {
  const numbers = new Map();
  const analytics = new Analytics({
    writeKey: "k",
    host: url,
    onError: (_status, _text, { messages }) => {
      for (const { messageId } of messages) lost(numbers.get(messageId));
    },
  });
  return {
    track: (call, number) => numbers.set(analytics.track(call).messageId, number),
    close: () => analytics.close({ timeoutMs: 90_000 }),
  };
}
