import { isUtf8 } from "node:buffer";

/** The text of a request's body, without a byte order mark; undefined when it is not UTF-8. */
export function decodeUtf8(body: Uint8Array): string | undefined {
  if (!isUtf8(body)) return undefined;
  const hasMark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8", hasMark ? 3 : 0);
}

/**
 * JSON in which no digit is lost: numbers that a double cannot hold (integers beyond 2^53, exponents beyond its
 * range) are kept as raw JSON and written out as they came in. Everything else is what `JSON.parse` makes of it.
 * `hasLongNumbers` spares the search for such numbers to those who know.
 */
export function parseJson(text: string, hasLongNumbers = UNHOLDABLE.test(text)): unknown {
  return hasLongNumbers ? JSON.parse(text, keepDigits) : JSON.parse(text);
}

/**
 * A number may need care only with sixteen digits before any point, or an exponent of two digits. It is looked for where
 * a number can begin: ids in strings, such as UUIDs, are full of an `e` before digits, and the slower parser costs ten times
 * as much. A string that looks like a number in a list is still taken for one: then we only lose time.
 */
const UNHOLDABLE = /(?:^|[:,[\s])-?(?:\d{16}|\d+(?:\.\d+)?[eE][+-]?\d{2})/;

function keepDigits(this: unknown, _key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || context?.source === undefined) return value;
  return isHeld(value, context.source) ? value : rawJson(context.source);
}

/** Whether a double says what the digits say, as far as `JSON.stringify` would write it: fractions may be rounded. */
function isHeld(value: number, source: string): boolean {
  if (value === 0) return !/^-?[0.]*[1-9]/.test(source);
  if (Number.isInteger(value)) return Number.isSafeInteger(value) || !/^-?\d+$/.test(source);
  return Number.isFinite(value);
}

/** `JSON.rawJSON`, which TypeScript's library does not know yet. */
const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;
