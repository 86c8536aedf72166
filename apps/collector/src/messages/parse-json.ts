import { isUtf8 } from "node:buffer";
import { type Findings, leastBytes } from "./inspect-json.js";

/** The text of a request's body, without a byte order mark; undefined when it is not UTF-8. */
export function decodeUtf8(body: Uint8Array): string | undefined {
  if (!isUtf8(body)) return undefined;
  const hasMark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8", hasMark ? 3 : 0);
}

/**
 * JSON in which no digit of an integer is lost: numbers that a double cannot hold (integers beyond 2^53, exponents beyond
 * its range) are kept as raw JSON and written out as they came in. Everything else is what `JSON.parse` makes of it.
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const findings: Findings = { isDeep: false, hasLargeNumbers: false };
  leastBytes(value, findings, LOOKED_AT);
  return findings.hasLargeNumbers || findings.isDeep ? parseKeepingDigits(text) : value;
}

/** How deep the search for numbers goes; what is deeper is taken to have some. */
const LOOKED_AT = 2_000;

/** As `parseJson`, for text in which there are such numbers. Five times slower than `JSON.parse`, and recursive. */
export function parseKeepingDigits(text: string): unknown {
  return JSON.parse(text, keepDigits);
}

function keepDigits(this: unknown, _key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || context?.source === undefined) return value;
  const isHeld = Number.isInteger(value)
    ? Number.isSafeInteger(value) || !/^-?\d+$/.test(context.source)
    : Number.isFinite(value);
  return isHeld ? value : rawJson(context.source);
}

/** `JSON.rawJSON`, which TypeScript's library does not know yet. */
const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;
