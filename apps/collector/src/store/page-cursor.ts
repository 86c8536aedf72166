import { CollectorError } from "../errors.js";

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
  if (!/^\d{1,15}$/.test(digits))
    throw new CollectorError("invalid_request", `${JSON.stringify(cursor)} is no cursor of this list`);
  return { position: Number(digits), tie: rest.join(":") };
}
