import { setImmediate as nextTurn } from "node:timers/promises";
import type { Page, PageRequest } from "@sluice/event-log";

/** The number of items that one request looks at; the next page continues after them. */
const MAX_EXAMINED = 5_000;
/** Items converted before the event loop may run: a message of 32 KB takes a fraction of a millisecond. */
const ITEMS_PER_TURN = 16;

/** Reads pages of the store until the page is full or enough items were examined. `show` returns undefined to leave an item out. */
export async function fillPage<A, B>(
  { limit, cursor: from }: PageRequest,
  read: (page: PageRequest) => Promise<Page<A>>,
  show: (item: A) => Promise<B | undefined>,
): Promise<{ items: B[]; nextCursor?: string }> {
  const items: B[] = [];
  let cursor = from;
  for (let examined = 0; ; ) {
    // Asks only for items that still fit: a page of the store is used completely, so that its cursor can be returned.
    const wanted = limit - items.length;
    const page = await read({ limit: wanted, ...(cursor === undefined ? {} : { cursor }) });
    for (let at = 0; at < page.items.length; at += ITEMS_PER_TURN) {
      const shown = await Promise.all(page.items.slice(at, at + ITEMS_PER_TURN).map(show));
      items.push(...shown.filter((item) => item !== undefined));
      if (at + ITEMS_PER_TURN < page.items.length || items.length < limit) await nextTurn();
    }
    examined += page.items.length;
    cursor = page.nextCursor;
    if (cursor === undefined) return { items };
    // The store itself cut the page short, because it has read enough for one request.
    const isCut = page.items.length < wanted;
    if (isCut || items.length >= limit || examined >= MAX_EXAMINED) return { items, nextCursor: cursor };
  }
}
