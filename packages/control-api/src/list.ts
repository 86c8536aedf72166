import { type TSchema, Type } from "@sinclair/typebox";
import { closed } from "./shape.js";

/** Items per page when `limit` is absent. */
export const DEFAULT_LIMIT = 50;

/** The parameters of every list. */
export const listParameters = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 500, default: DEFAULT_LIMIT, description: "Items per page" }),
  ),
  cursor: Type.Optional(Type.String({ maxLength: 1_000, description: "`nextCursor` of the previous page" })),
};
export const ListQuery = closed(listParameters);

/** A span of time as two parameters. */
export const timeParameters = {
  from: Type.Optional(Type.String({ description: "Not before this time (ISO 8601)" })),
  to: Type.Optional(Type.String({ description: "Before this time (ISO 8601)" })),
};

/** A page of a list. */
export interface ListAnswer<T> {
  readonly items: readonly T[];
  /** Pass it as `cursor` to get the next page. Absent on the last page. */
  readonly nextCursor?: string;
}

/** The schema of a page of items. */
export function listOf<T extends TSchema>(items: T) {
  return Type.Object({ items: Type.Array(items), nextCursor: Type.Optional(Type.String()) });
}
