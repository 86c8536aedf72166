import { StoreError } from "../ports/errors.js";

/** The position of the last item of a page, as its `nextCursor` encodes it. */
export interface PagePlace {
  readonly position: number;
  /** Distinguishes items at the same position. */
  readonly tie: string;
}

/** The start of a list that is sorted newest first. */
export const NEWEST: PagePlace = { position: Number.POSITIVE_INFINITY, tie: "" };

export function writeCursor(place: PagePlace): string {
  return place.tie === "" ? String(place.position) : `${place.position}:${place.tie}`;
}

export function readCursor(cursor: string | undefined): PagePlace {
  if (cursor === undefined) return NEWEST;
  const [digits = "", ...rest] = cursor.split(":");
  return { position: positionOf(cursor, digits), tie: rest.join(":") };
}

/** `readCursor` for a list in which no two items share a position. Undefined: the first page. */
export function readPosition(cursor: string | undefined): number | undefined {
  return cursor === undefined ? undefined : positionOf(cursor, cursor);
}

export function writePosition(position: number): string {
  return writeCursor({ position, tie: "" });
}

function positionOf(cursor: string, digits: string): number {
  if (!/^\d{1,15}$/.test(digits))
    throw new StoreError("invalid_request", `${JSON.stringify(cursor)} is not a cursor of this list`);
  return Number(digits);
}
