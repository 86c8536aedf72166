import type { Store } from "@sluice/event-log";
import type { Consumer } from "../consumer.js";

/** Retries that are looked at in one reading. */
const PAGE = 500;

/**
 * Tells a consumer which messages wait in the retry queue whose users are kept in order: all where the destination asks for it, else
 * those that the collector made. After a restart, and when a destination begins to ask for it.
 */
export async function recallLines(
  store: Store,
  consumerId: string,
  consumer: Pick<Consumer, "recall">,
  order: "none" | "user",
): Promise<void> {
  const { retries } = await store.consumers.backlog(consumerId);
  let cursor = retries === 0 ? undefined : "";
  while (cursor !== undefined) {
    const page = await store.consumers.list(
      { consumerId, state: "pending" },
      { limit: PAGE, ...(cursor === "" ? {} : { cursor }) },
    );
    for (const { retry } of page.items) {
      if (retry === undefined || retry.replay) continue;
      const stored = await store.log.get(retry.offset);
      const isOrdered = order === "user" || stored?.onlyDestinations !== undefined;
      if (stored !== undefined && isOrdered) consumer.recall(stored, retry);
    }
    cursor = page.nextCursor;
  }
}
