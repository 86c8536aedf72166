import { endOfString, SIGNIFICANT } from "./scan-json.js";
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from "./scan-values.js";

/** In bytes. A longer string is neither one of our keys nor an id. */
const LONGEST_TEXT = 1_024;

/**
 * Finds the write key in a request's bytes, in one pass and without parsing: the envelope's (or the single message's), else the first
 * one in a message of the batch. If the bytes are not JSON, the result means nothing, but the search still ends.
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one loop over every byte of a request; its state is seven locals, and calls with them would be slower and no shorter
export function findWriteKey(body: Uint8Array, isBatchPath: boolean): string | undefined {
  let ofRequest: string | undefined;
  let ofMessage: string | undefined;
  let depth = 0;
  /** The next string at this depth is a key. */
  let isKeyNext = false;
  let isRootObject = false;
  let isItemObject = false;
  let isInBatch = false;
  /** The last key of the envelope, and of the message. */
  let rootKey: string | undefined;
  let itemKey: string | undefined;

  for (let i = 0; i < body.length; i++) {
    const byte = body[i] as number;
    if (SIGNIFICANT[byte] === 0) continue;
    switch (byte) {
      case QUOTE: {
        const start = i;
        i = endOfString(body, i + 1);
        const isInItem = depth === 3 && isInBatch;
        if (depth !== 1 && !isInItem) break;
        if (isKeyNext) {
          isKeyNext = false;
          const key = isNameShort(i - start) ? textOf(body, start, i + 1) : undefined;
          if (isInItem) itemKey = key;
          else rootKey = key;
        } else if (isInItem) {
          if (itemKey === "writeKey") ofMessage ||= textOf(body, start, i + 1);
        } else if (rootKey === "writeKey") ofRequest = textOf(body, start, i + 1);
        break;
      }
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        depth++;
        if (depth === 1) {
          isRootObject = byte === OPEN_OBJECT;
          isKeyNext = isRootObject;
        } else if (depth === 2 && isBatchPath && rootKey === "batch" && byte === OPEN_ARRAY) {
          isInBatch = true;
          ofMessage = undefined;
        } else if (depth === 3 && isInBatch) {
          isItemObject = byte === OPEN_OBJECT;
          isKeyNext = isItemObject;
        }
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (depth === 2) isInBatch = false;
        depth--;
        break;
      case COMMA:
        if (depth === 1) {
          isKeyNext = isRootObject;
          rootKey = undefined;
        } else if (depth === 3 && isInBatch) {
          isKeyNext = isItemObject;
          itemKey = undefined;
        }
        break;
    }
  }
  return ofRequest || ofMessage || undefined;
}

/** Finds the string values of the top-level fields in `names`, without parsing. Other values are left out. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one loop over every byte, as in `findWriteKey`
export function findTexts(body: Uint8Array, names: ReadonlySet<string>): Record<string, string> {
  const found: Record<string, string> = {};
  let depth = 0;
  let isKeyNext = false;
  let key: string | undefined;
  for (let i = 0; i < body.length; i++) {
    const byte = body[i] as number;
    if (SIGNIFICANT[byte] === 0) continue;
    if (byte === QUOTE) {
      const start = i;
      i = endOfString(body, i + 1);
      if (depth !== 1) continue;
      if (isKeyNext) key = isNameShort(i - start) ? textOf(body, start, i + 1) : undefined;
      else if (key !== undefined && names.has(key)) {
        const text = textOf(body, start, i + 1);
        if (text !== undefined) found[key] = text;
      }
      isKeyNext = false;
    } else if (byte === COMMA) {
      if (depth !== 1) continue;
      isKeyNext = true;
      key = undefined;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth++;
      if (depth === 1) isKeyNext = byte === OPEN_OBJECT;
    } else depth--;
  }
  return found;
}

/** Our field names have at most 11 letters, and each may be written as \\uXXXX. */
function isNameShort(length: number): boolean {
  return length <= 11 * 6 + 1;
}

/** The text of the JSON string from `start` to `end`, quotes included; undefined if it is too long or not valid. */
function textOf(body: Uint8Array, start: number, end: number): string | undefined {
  // A string that is not closed ends behind the body.
  if (end > body.length || end - start > LONGEST_TEXT) return undefined;
  const text = Buffer.from(body.buffer, body.byteOffset + start, end - start);
  if (!text.includes(BACKSLASH)) return text.toString("utf8", 1, text.length - 1);
  try {
    return JSON.parse(text.toString()) as string;
  } catch {
    return undefined;
  }
}
