import { DEFAULT_LIMIT, type ListAnswer } from "@sluice/control-api";
import { CollectorError } from "../../errors.js";

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
