import type { Store } from "../store/store.js";
import type { Consumer } from "./consumer.js";

/** After a restart: tells a consumer that keeps users in order which messages of theirs wait in the retry queue. */
export async function recallLines(store: Store, consumerId: string, consumer: Consumer): Promise<void> {
  const { retries: count } = await store.consumers.backlog(consumerId);
  if (count === 0) return;
  // All of them, due or not, and leased for no time: they are only looked at.
  const retries = await store.consumers.lease(consumerId, Number.MAX_SAFE_INTEGER, 0, count);
  for (const retry of retries.filter(({ replay }) => !replay).sort((a, b) => a.offset - b.offset)) {
    const stored = await store.log.get(retry.offset);
    if (stored !== undefined) consumer.recall(stored, retry);
  }
}
