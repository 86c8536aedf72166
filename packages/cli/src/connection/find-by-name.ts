import { allPages } from "@sluice/admin-client";
import type { ListAnswer } from "@sluice/protocol";
import { CommandFailure } from "../failures/exit-codes.js";

/** Of a list the one with that id, else the only one with that name. */
export async function findByName<T extends { readonly id: string; readonly name: string }>(
  what: string,
  wanted: string,
  list: (page: { cursor: string | undefined }) => Promise<ListAnswer<T>>,
): Promise<T> {
  const named: T[] = [];
  for await (const item of allPages((cursor) => list({ cursor }))) {
    if (item.id === wanted) return item;
    if (item.name === wanted) named.push(item);
  }
  const [only, another] = named;
  if (only === undefined) throw new CommandFailure("notFound", `There is no ${what} ${wanted}`);
  if (another !== undefined)
    throw new CommandFailure(
      "usage",
      `${named.length} ${what}s are called ${wanted}; name one by its id: ${named.map(({ id }) => id).join(", ")}`,
    );
  return only;
}
