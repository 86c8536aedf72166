import type { ListAnswer } from "@sluice/protocol";
import { CollectorError } from "../errors.js";
import { DEFAULT_LIMIT } from "./list-query.js";

/** A page of things that are few and all at hand. The cursor is the id of the last one shown. */
export function pageOfDocuments<T extends { readonly id: string }, V>(
  all: readonly T[],
  { limit = DEFAULT_LIMIT, cursor }: { readonly limit?: number; readonly cursor?: string },
  view: (item: T) => V,
): ListAnswer<V> {
  const last = cursor === undefined ? -1 : all.findIndex((item) => item.id === cursor);
  if (cursor !== undefined && last < 0)
    throw new CollectorError(
      "invalid_request",
      "`cursor` names something that is gone: begin again without it",
    );
  const page = all.slice(last + 1, last + 1 + limit);
  const end = page.at(-1);
  return {
    items: page.map(view),
    ...(end !== undefined && last + 1 + limit < all.length ? { nextCursor: end.id } : {}),
  };
}
