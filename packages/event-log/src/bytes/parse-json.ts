import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import { inspectJson } from "./inspect-json.js";

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
  const { hasLargeNumbers, isDeep } = inspectJson(value, LOOKED_AT);
  return hasLargeNumbers || isDeep ? parseKeepingDigits(text) : value;
}

/** How deep the search for numbers goes; what is deeper is taken to have some. */
const LOOKED_AT = 2_000;

/** As `parseJson`, for text in which there are such numbers: they are parsed as strings with a mark, and then replaced. */
export function parseKeepingDigits(text: string): unknown {
  const mark = unusedMark(text);
  const marked = markLargeNumbers(text, mark);
  return marked === undefined ? JSON.parse(text) : withoutMarks(JSON.parse(marked), mark);
}

/** A beginning that no string of the text has. Chance makes it unlikely that a second one is needed. */
function unusedMark(text: string): string {
  for (;;) {
    const mark = `#${randomBytes(6).toString("base64url")}:`;
    if (!text.includes(mark)) return mark;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const UPPER_E = 0x45;
const LOWER_E = 0x65;
/** Shorter integers are safe. */
const LONG_DIGITS = 16;

/** What a number is made of. */
function isOfNumber(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) || code === 0x2d || code === 0x2b || code === 0x2e || isExponent(code)
  );
}

function isExponent(code: number): boolean {
  return code === LOWER_E || code === UPPER_E;
}

/** The text with the numbers that a double cannot hold as strings; undefined where there are none. */
function markLargeNumbers(text: string, mark: string): string | undefined {
  const parts: string[] = [];
  let copiedTo = 0;
  for (let i = 0; i < text.length; i++) {
    const first = text.charCodeAt(i);
    if (first === QUOTE) {
      for (i++; i < text.length; i++) {
        const code = text.charCodeAt(i);
        if (code === QUOTE) break;
        if (code === BACKSLASH) i++;
      }
      continue;
    }
    if ((first < 0x30 || first > 0x39) && first !== 0x2d) continue;
    const start = i;
    let hasExponent = false;
    for (; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (!isOfNumber(code)) break;
      hasExponent ||= isExponent(code);
    }
    if (hasExponent || i - start >= LONG_DIGITS) {
      const digits = text.slice(start, i);
      if (!isHeld(digits)) {
        parts.push(text.slice(copiedTo, start), '"', mark, digits, '"');
        copiedTo = i;
      }
    }
    i--;
  }
  if (parts.length === 0) return undefined;
  parts.push(text.slice(copiedTo));
  return parts.join("");
}

/** Whether a double holds the number, or it is none. */
function isHeld(digits: string): boolean {
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(digits)) return true;
  const value = Number(digits);
  return Number.isSafeInteger(value) || (Number.isFinite(value) && !/^-?\d+$/.test(digits));
}

type Container = { [key: string]: unknown } | unknown[];

/** Puts raw JSON in the place of marked strings. Not recursive: the text may be nested as deep as it likes. */
function withoutMarks(parsed: unknown, mark: string): unknown {
  const root = [parsed];
  const unseen: Container[] = [root];
  /** What a value becomes; containers are looked into later. */
  const unmarked = (value: unknown): unknown => {
    if (typeof value === "object" && value !== null) unseen.push(value as Container);
    return typeof value === "string" && value.startsWith(mark) ? rawJson(value.slice(mark.length)) : value;
  };
  for (let container = unseen.pop(); container !== undefined; container = unseen.pop()) {
    if (Array.isArray(container)) {
      for (let i = 0; i < container.length; i++) {
        const value = unmarked(container[i]);
        if (value !== container[i]) container[i] = value;
      }
      continue;
    }
    for (const key in container) {
      const value = unmarked(container[key]);
      if (value !== container[key]) setOwn(container, key, value);
    }
  }
  return root[0];
}

/** A field that is named `__proto__` is one like any other. */
function setOwn(container: { [key: string]: unknown }, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true });
  else container[key] = value;
}

/** `JSON.rawJSON`, which TypeScript's library does not know yet. */
const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;
