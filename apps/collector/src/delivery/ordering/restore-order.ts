import type { Retry, Store, StoredMessage } from "@sluice/event-log";

/** Deliveries per page. */
const PAGE = 500;

/** Which messages keep their order per user: all, or only those that the collector made itself. */
export type Order = "none" | "user";

export interface RestoreTarget {
  /** A message that waits in the retry queue and whose user's order counts. */
  restore(stored: StoredMessage, retry: Retry): void;
}

/**
 * Tells a consumer which waiting retries keep the order of their users. Needed after a restart, and when a destination starts to
 * ask for order.
 */
export async function restoreOrder(
  store: Store,
  consumerId: string,
  target: RestoreTarget,
  order: Order,
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
      if (stored !== undefined && isOrdered) target.restore(stored, retry);
    }
    cursor = page.nextCursor;
  }
}
