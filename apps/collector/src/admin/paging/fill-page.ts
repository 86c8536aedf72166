import { setImmediate as nextTurn } from "node:timers/promises";
import type { Page, PageRequest } from "@sluice/event-log";

/** One request looks at so many items of the store at most; what is beyond is for the next page. */
const MOST_LOOKED_AT = 5_000;
/** Items that are shown before the event loop goes on: messages of 32 KB take a fraction of a millisecond each. */
const SHOWN_IN_A_TURN = 16;

/** Pages of the store, until enough of their items are to be shown or enough were looked at; `show` leaves one out with undefined. */
export async function fillPage<A, B>(
  { limit, cursor: from }: PageRequest,
  read: (page: PageRequest) => Promise<Page<A>>,
  show: (item: A) => Promise<B | undefined>,
): Promise<{ items: B[]; nextCursor?: string }> {
  const items: B[] = [];
  let cursor = from;
  for (let looked = 0; ; ) {
    // A page of the store is taken whole, so that its cursor is ours: never more than are still wanted.
    const wanted = limit - items.length;
    const page = await read({ limit: wanted, ...(cursor === undefined ? {} : { cursor }) });
    for (let at = 0; at < page.items.length; at += SHOWN_IN_A_TURN) {
      const shown = await Promise.all(page.items.slice(at, at + SHOWN_IN_A_TURN).map(show));
      items.push(...shown.filter((item) => item !== undefined));
      if (at + SHOWN_IN_A_TURN < page.items.length || items.length < limit) await nextTurn();
    }
    looked += page.items.length;
    cursor = page.nextCursor;
    if (cursor === undefined) return { items };
    // A page that the store itself has cut short: it has read enough for one request.
    const isCut = page.items.length < wanted;
    if (isCut || items.length >= limit || looked >= MOST_LOOKED_AT) return { items, nextCursor: cursor };
  }
}
