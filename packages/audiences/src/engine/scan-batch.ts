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

/** What one look at the bytes tells of a batch's items. */
export interface SkimmedBatch {
  readonly items: readonly SkimmedItem[];
  /** The envelope's. */
  readonly sentAt: string | undefined;
}

export interface SkimmedItem {
  /** Where its JSON stands: `body.subarray(start, end)`. */
  readonly start: number;
  readonly end: number;
  /**
   * What it says of its kind, event, user and time. Undefined where that is not plain text (a number, an escape): then it has
   * to be parsed to be known.
   */
  readonly fields: UncheckedMessage | undefined;
}

/** What is read of a message. */
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
 * Reads a batch's bytes once, without making values of what nobody asks for: a third of what parsing costs. Undefined where it is
 * no envelope with a `batch`, or one that is written in an unusual way: keys with escapes, deep nesting. The bytes are UTF-8.
 */
export function skimBatch(body: Uint8Array): SkimmedBatch | undefined {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  let items: SkimmedItem[] | undefined;
  let sentAt: string | undefined;
  const start = skipWhitespace(text, matchesAt(text, 0, MARK) ? MARK.length : 0);
  const end = scanFields(text, start, ENVELOPE_FIELDS, (_, field, at) => {
    if (field === "batch") {
      // The last of several wins, as it does for the parser.
      const found: SkimmedItem[] = [];
      items = found;
      return scanItems(text, at, (item) => skimItem(text, item, found));
    }
    const after = scanPlainString(text, at);
    if (after !== IRREGULAR) sentAt = text.toString("utf8", at + 1, after - 1);
    return after;
  });
  return end === IRREGULAR || items === undefined ? undefined : { items, sentAt };
}

function skimItem(body: Buffer, start: number, items: SkimmedItem[]): number {
  const message: UncheckedMessage = {};
  let isPlain = true;
  let end = scanFields(body, start, FIELDS, (_, name, at) => {
    // As parsed: of a key that comes twice the last one counts, and null is none.
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
    // No object, or one that only the parser can tell.
    isPlain = false;
    end = scanValue(body, start, MAX_DEPTH);
  }
  if (end !== IRREGULAR) items.push({ start, end, fields: isPlain ? message : undefined });
  return end;
}
