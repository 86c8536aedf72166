import { type AdminClient, allPages } from "@sluice/admin-client";
import type { ListAnswer } from "@sluice/control-api";
import { CommandFailure } from "../failures.js";

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

/** Finds the item with this id, otherwise the only one with this name. `noun` is used in errors. */
export async function findByName<T extends { readonly id: string; readonly name: string }>(
  noun: string,
  wanted: string,
  list: (page: { cursor: string | undefined }) => Promise<ListAnswer<T>>,
): Promise<T> {
  const named: T[] = [];
  for await (const item of allPages((cursor) => list({ cursor }))) {
    if (item.id === wanted) return item;
    if (item.name === wanted) named.push(item);
  }
  const [only, another] = named;
  if (only === undefined) throw new CommandFailure("notFound", `There is no ${noun} ${wanted}`);
  if (another !== undefined)
    throw new CommandFailure(
      "usage",
      `${named.length} ${noun}s have the name ${wanted}`,
      `Use an id instead: ${named.map(({ id }) => id).join(", ")}`,
    );
  return only;
}

/** Looks up the names of destinations by id. Reads the list again for an unknown id, and returns the id if it stays unknown. */
export function destinationNames(client: AdminClient): (id: string) => Promise<string> {
  let known = new Map<string, string>();
  return async (id) => {
    if (!known.has(id)) {
      const names = new Map<string, string>();
      try {
        for await (const { id: one, name } of allPages((cursor) => client.destinations.list({ cursor })))
          names.set(one, name);
      } catch {
        // Ids are shown instead of names.
      }
      known = names.set(id, names.get(id) ?? id);
    }
    return known.get(id) ?? id;
  };
}

/** The names of these destinations by id; the id itself for a deleted one. */
export async function namesOf(client: AdminClient, ids: Iterable<string>): Promise<(id: string) => string> {
  const look = destinationNames(client);
  const names = new Map<string, string>();
  for (const id of new Set(ids)) names.set(id, await look(id));
  return (id) => names.get(id) ?? id;
}
