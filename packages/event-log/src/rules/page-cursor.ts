import { StoreError } from "../ports/errors.js";

/** The place at which a page ended, as its `nextCursor` tells it: what stood there has been given out. */
export interface PagePlace {
  readonly position: number;
  /** Chooses among several items at one position. */
  readonly tie: string;
}

/** Before the first page of a list that runs from the newest down. */
export const NEWEST: PagePlace = { position: Number.POSITIVE_INFINITY, tie: "" };

export function writeCursor(place: PagePlace): string {
  return place.tie === "" ? String(place.position) : `${place.position}:${place.tie}`;
}

export function readCursor(cursor: string | undefined): PagePlace {
  if (cursor === undefined) return NEWEST;
  const [digits = "", ...rest] = cursor.split(":");
  return { position: positionOf(cursor, digits), tie: rest.join(":") };
}

/** The same of a list in which no two items share a position; undefined: its first page is asked for. */
export function readPosition(cursor: string | undefined): number | undefined {
  return cursor === undefined ? undefined : positionOf(cursor, cursor);
}

export function writePosition(position: number): string {
  return writeCursor({ position, tie: "" });
}

function positionOf(cursor: string, digits: string): number {
  if (!/^\d{1,15}$/.test(digits))
    throw new StoreError("invalid_request", `${JSON.stringify(cursor)} is no cursor of this list`);
  return Number(digits);
}
