import {
  IRREGULAR,
  JsonNames,
  MAX_DEPTH,
  matchesAt,
  NULL,
  QUOTE,
  scanFields,
  scanItems,
  scanPlainString,
  scanValue,
  skipWhitespace,
} from "@sluice/event-log";
import type { UncheckedMessage } from "@sluice/protocol";

/** The items of a batch, as far as its bytes were scanned. */
export interface ScannedBatch {
  readonly items: readonly ScannedItem[];
  /** The envelope's. */
  readonly sentAt: string | undefined;
}

export interface ScannedItem {
  /** Its JSON is `body.subarray(start, end)`. */
  readonly start: number;
  readonly end: number;
  /** Its type, event, ids and times. Undefined if one of them is not a plain string (a number, an escape): the item has to be parsed. */
  readonly fields: UncheckedMessage | undefined;
}

const FIELDS = new JsonNames({
  type: "type",
  event: "event",
  userId: "userId",
  anonymousId: "anonymousId",
  timestamp: "timestamp",
  originalTimestamp: "originalTimestamp",
  sentAt: "sentAt",
});
const ENVELOPE_FIELDS = new JsonNames({ batch: "batch", sentAt: "sentAt" });
const MARK = Buffer.from("\ufeff");

/**
 * Scans the bytes of a batch once and makes only the values that are needed, at a third of the cost of parsing. Undefined if it is not an
 * envelope with a `batch`, or if it is written in an unusual way: keys with escapes, deep nesting. The bytes must be UTF-8.
 */
export function scanBatch(body: Uint8Array): ScannedBatch | undefined {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  let items: ScannedItem[] | undefined;
  let sentAt: string | undefined;
  const start = skipWhitespace(text, matchesAt(text, 0, MARK) ? MARK.length : 0);
  const end = scanFields(text, start, ENVELOPE_FIELDS, (_, field, at) => {
    if (field === "batch") {
      // If a key comes twice the last one wins, as in `JSON.parse`.
      const found: ScannedItem[] = [];
      items = found;
      return scanItems(text, at, (item) => scanItem(text, item, found));
    }
    const after = scanPlainString(text, at);
    if (after !== IRREGULAR) sentAt = text.toString("utf8", at + 1, after - 1);
    return after;
  });
  return end === IRREGULAR || items === undefined ? undefined : { items, sentAt };
}

function scanItem(body: Buffer, start: number, items: ScannedItem[]): number {
  const message: UncheckedMessage = {};
  let isPlain = true;
  let end = scanFields(body, start, FIELDS, (_, name, at) => {
    // As after parsing: null counts as absent. The type keeps its value, so that an item with a null type is parsed.
    if (name !== "type" && matchesAt(body, at, NULL)) {
      delete message[name];
      return at + NULL.length;
    }
    const after = body[at] === QUOTE ? scanPlainString(body, at) : IRREGULAR;
    if (after === IRREGULAR) {
      isPlain = false;
      return scanValue(body, at, MAX_DEPTH);
    }
    message[name] = body.toString("utf8", at + 1, after - 1);
    return after;
  });
  if (end === IRREGULAR) {
    // Not an object, or one that only the parser can read.
    isPlain = false;
    end = scanValue(body, start, MAX_DEPTH);
  }
  if (end !== IRREGULAR) items.push({ start, end, fields: isPlain ? message : undefined });
  return end;
}
