import { allPages } from "@sluice/admin-client";
import type { ListAnswer } from "@sluice/control-api";
import { CommandFailure } from "../failures/exit-codes.js";

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
