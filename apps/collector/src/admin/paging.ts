import { setImmediate as nextTurn } from "node:timers/promises";
import { DEFAULT_LIMIT, type ListAnswer } from "@sluice/control-api";
import type { Page, PageRequest } from "@sluice/event-log";
import { parseTime } from "@sluice/protocol";
import { CollectorError } from "../errors.js";

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

/** A page of a short list that is in memory. The cursor is the id of the last item shown. */
export function pageOfDocuments<T extends { readonly id: string }>(
  all: readonly T[],
  { limit = DEFAULT_LIMIT, cursor }: { readonly limit?: number; readonly cursor?: string },
): ListAnswer<T> {
  const last = cursor === undefined ? -1 : all.findIndex((item) => item.id === cursor);
  if (cursor !== undefined && last < 0)
    throw new CollectorError(
      "invalid_request",
      "`cursor` names an item that was deleted: start again without it",
    );
  const items = all.slice(last + 1, last + 1 + limit);
  const end = items.at(-1);
  return {
    items,
    ...(end !== undefined && last + 1 + limit < all.length ? { nextCursor: end.id } : {}),
  };
}

/** The page that a query asks the store for. */
export function pageRequest(query: { readonly limit?: number; readonly cursor?: string }): PageRequest {
  return {
    limit: query.limit ?? DEFAULT_LIMIT,
    ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
  };
}

/** The span of time of a query, in milliseconds. Throws `invalid_request` for a time that cannot be read. */
export function timeSpan(query: { readonly from?: string; readonly to?: string }): {
  fromMs?: number;
  toMs?: number;
} {
  return {
    ...(query.from === undefined ? {} : { fromMs: readTime("from", query.from) }),
    ...(query.to === undefined ? {} : { toMs: readTime("to", query.to) }),
  };
}

function readTime(name: string, text: string): number {
  const ms = parseTime(text);
  if (ms === undefined)
    throw new CollectorError("invalid_request", `\`${name}\` is not an ISO 8601 time: ${text.slice(0, 64)}`);
  return ms;
}

/** A page of the store as the API shows it. */
export function pageOf<A, B>(page: Page<A>, view: (item: A) => B): { items: B[]; nextCursor?: string } {
  return {
    items: page.items.map(view),
    ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }),
  };
}
