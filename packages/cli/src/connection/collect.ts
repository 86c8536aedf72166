import { allPages } from "@sluice/admin-client";
import type { ListAnswer } from "@sluice/control-api";

/** All items of a list, from all its pages. */
export async function collect<T>(page: (cursor: string | undefined) => Promise<ListAnswer<T>>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of allPages(page)) items.push(item);
  return items;
}

/** The first `limit` items of a list. With a rare filter a page can be short, or empty, and still have a next page. */
export async function collectUpTo<T>(
  limit: number,
  page: (options: { readonly limit: number; readonly cursor: string | undefined }) => Promise<ListAnswer<T>>,
): Promise<ListAnswer<T>> {
  const items: T[] = [];
  let nextCursor: string | undefined;
  do {
    const answer = await page({ limit: limit - items.length, cursor: nextCursor });
    items.push(...answer.items);
    nextCursor = answer.nextCursor;
  } while (nextCursor !== undefined && items.length < limit);
  return { items, ...(nextCursor === undefined ? {} : { nextCursor }) };
}
