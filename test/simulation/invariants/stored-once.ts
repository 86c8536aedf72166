import type { Invariant } from "./invariant.js";

/** Dedupe. */
export const storedOnce: Invariant = {
  name: "stored-once",
  promise:
    "A message that a client sends again within the dedupe window is stored once, whatever crashes in between.",
  check({ messages }) {
    const seen = new Map<string, number>();
    for (const { sourceId, messageId } of messages) {
      const key = `${sourceId} ${messageId}`;
      seen.set(key, (seen.get(key) ?? 0) + 1);
    }
    return [...seen].flatMap(([key, times]) => (times > 1 ? [`${key} is ${times} times in the log`] : []));
  },
};
