import type { Store } from "../store/store.js";
import type { Consumer } from "./consumer.js";

/**
 * After a restart: tells a consumer which messages wait in the retry queue whose users are kept in order: all where the destination
 * asks for it, else those that the collector made.
 */
export async function recallLines(
  store: Store,
  consumerId: string,
  consumer: Consumer,
  order: "none" | "user",
): Promise<void> {
  const { retries: count } = await store.consumers.backlog(consumerId);
  if (count === 0) return;
  // All of them, due or not, and leased for no time: they are only looked at.
  const retries = await store.consumers.lease(consumerId, Number.MAX_SAFE_INTEGER, 0, count);
  for (const retry of retries.filter(({ replay }) => !replay).sort((a, b) => a.offset - b.offset)) {
    const stored = await store.log.get(retry.offset);
    const isOrdered = order === "user" || stored?.onlyDestinations !== undefined;
    if (stored !== undefined && isOrdered) consumer.recall(stored, retry);
  }
}
