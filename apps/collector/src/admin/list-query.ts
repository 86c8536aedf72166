import { type TSchema, Type } from "@sinclair/typebox";
import type { Page, PageRequest } from "@sluice/event-log";
import { parseTime } from "@sluice/protocol";
import { CollectorError } from "../errors.js";

/** Items of a page when nothing is said. */
export const DEFAULT_LIMIT = 50;

/** Parameters of every list. */
export const listParameters = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 500, default: DEFAULT_LIMIT, description: "Items a page" }),
  ),
  cursor: Type.Optional(Type.String({ maxLength: 1_000, description: "`nextCursor` of the page before" })),
};

/** A span of time as two parameters. */
export const timeParameters = {
  from: Type.Optional(Type.String({ description: "Not before this time (ISO 8601)" })),
  to: Type.Optional(Type.String({ description: "Before this time (ISO 8601)" })),
};

/** `{items, nextCursor?}` of a schema. */
export function listOf<T extends TSchema>(items: T) {
  return Type.Object({ items: Type.Array(items), nextCursor: Type.Optional(Type.String()) });
}

export function pageRequest(query: { readonly limit?: number; readonly cursor?: string }): PageRequest {
  return {
    limit: query.limit ?? DEFAULT_LIMIT,
    ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
  };
}

/** The span in milliseconds; a time that is none is refused. */
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

/** A page with its items turned into what the API shows. */
export function pageOf<A, B>(page: Page<A>, view: (item: A) => B): { items: B[]; nextCursor?: string } {
  return {
    items: page.items.map(view),
    ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }),
  };
}
