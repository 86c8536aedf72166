import type { UncheckedMessage } from "@sluice/protocol";
import type { StoredMessage } from "../message/batch.js";
import { identityOf } from "../message/identity.js";
import { StoreError } from "../ports/errors.js";
import type { MessageQuery } from "../ports/event-log.js";

/** Whether a message matches the query, except for `outcome`. Every store checks this last, whatever its indexes say. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a flat list, one line for each field of a query
export function matchesQuery(stored: StoredMessage, query: MessageQuery): boolean {
  const { message } = stored;
  if (query.messageId !== undefined && stored.messageId !== query.messageId) return false;
  if (query.sourceId !== undefined && stored.sourceId !== query.sourceId) return false;
  if (query.fromMs !== undefined && stored.receivedAtMs < query.fromMs) return false;
  if (query.toMs !== undefined && stored.receivedAtMs >= query.toMs) return false;
  if (query.type !== undefined && message.type !== query.type) return false;
  if (query.event !== undefined && (message.type !== "track" || message.event !== query.event)) return false;
  if (query.userId !== undefined && userOf(message) !== query.userId) return false;
  if (query.identity !== undefined && identityOf(message) !== query.identity) return false;
  if (query.text !== undefined) {
    return JSON.stringify(message).toLowerCase().includes(query.text.toLowerCase());
  }
  return true;
}

/** The message's `userId`, or its `anonymousId` if it has no `userId`. */
function userOf(message: UncheckedMessage): string | undefined {
  for (const id of [message.userId, message.anonymousId]) {
    if (typeof id === "string" && id !== "") return id;
  }
  return undefined;
}

/** The position of the last item of a page, as its `nextCursor` encodes it. */
interface PagePlace {
  readonly position: number;
  /** Distinguishes items at the same position. */
  readonly tie: string;
}

/** The start of a list that is sorted newest first. */
const NEWEST: PagePlace = { position: Number.POSITIVE_INFINITY, tie: "" };

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
