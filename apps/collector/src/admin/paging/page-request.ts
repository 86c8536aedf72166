import { DEFAULT_LIMIT } from "@sluice/control-api";
import type { Page, PageRequest } from "@sluice/event-log";
import { parseTime } from "@sluice/protocol";
import { CollectorError } from "../../errors.js";

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
