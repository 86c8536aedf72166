import { ownerOf } from "../model/identities.js";
import type { Invariant } from "./invariant.js";

/** Order, where it was asked for. */
export const orderPerUser: Invariant = {
  name: "order-per-user",
  promise:
    'With `order: "user"`, a message is sent only after every earlier message of its user has ended. A process that follows a crash begins again in order. A replay ignores order.',
  check({ cast, messages, livesOf }) {
    const wrong: string[] = [];
    for (const destination of cast.destinations) {
      if (destination.plan.order !== "user") continue;
      /** By user and run: the last post of earlier messages. */
      const last = new Map<string, { readonly atMs: number; readonly messageId: string }>();
      for (const stored of messages) {
        const { messageId, message } = stored;
        // Delete messages wait for nothing that their user sent before: it is gone.
        if (message.type === "delete") continue;
        const posts = livesOf(destination, stored)[0]?.posts ?? [];
        const user = ownerOf(message);
        for (const { run, atMs } of posts) {
          const before = last.get(`${user} ${run}`);
          if (before !== undefined && before.messageId !== messageId && before.atMs > atMs)
            wrong.push(
              `${messageId} was sent to ${destination.plan.name} at ${atMs}, before ${before.messageId}`,
            );
        }
        for (const { run, atMs } of posts) {
          const key = `${user} ${run}`;
          if (atMs >= (last.get(key)?.atMs ?? 0)) last.set(key, { atMs, messageId });
        }
      }
    }
    return wrong;
  },
};
