/**
 * A byte scanner for JSON: it checks the grammar without building values. Each function takes the index at which something begins and
 * returns the index after its end, or `IRREGULAR`. Everything it accepts, `JSON.parse` accepts too; what it rejects may still be JSON
 * (nested too deep, for example). The bytes must be UTF-8.
 */

/** A field that is nested deeper than this is irregular. */
export const MAX_DEPTH = 32;

/** Returned instead of an index: not JSON, or JSON that these functions do not handle. */
export const IRREGULAR = -1;

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
export const QUOTE = 0x22;
const PLUS = 0x2b;
export const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const UPPER_E = 0x45;
export const OPEN_ARRAY = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_ARRAY = 0x5d;
const LOWER_E = 0x65;
const LOWER_F = 0x66;
const LOWER_N = 0x6e;
const LOWER_T = 0x74;
const LOWER_U = 0x75;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

const TRUE = Buffer.from("true");
const FALSE = Buffer.from("false");
export const NULL = Buffer.from("null");

/** The index of the next byte that is not white space. */
export function skipWhitespace(body: Uint8Array, at: number): number {
  let i = at;
  for (;;) {
    const byte = body[i] ?? 0xff;
    if (byte > SPACE) return i;
    if (byte !== SPACE && byte !== LINE_FEED && byte !== CARRIAGE_RETURN && byte !== TAB) return i;
    i++;
  }
}

export function scanValue(body: Uint8Array, at: number, depthLeft: number): number {
  switch (body[at]) {
    case QUOTE:
      return scanString(body, at);
    case OPEN_OBJECT:
      return scanObject(body, at, depthLeft);
    case OPEN_ARRAY:
      return scanArray(body, at, depthLeft);
    case LOWER_T:
      return matchesAt(body, at, TRUE) ? at + TRUE.length : IRREGULAR;
    case LOWER_F:
      return matchesAt(body, at, FALSE) ? at + FALSE.length : IRREGULAR;
    case LOWER_N:
      return matchesAt(body, at, NULL) ? at + NULL.length : IRREGULAR;
    default:
      return scanNumber(body, at);
  }
}

/** Whether the bytes at `at` are `wanted`. */
export function matchesAt(body: Uint8Array, at: number, wanted: Uint8Array): boolean {
  for (let i = 0; i < wanted.length; i++) if (body[at + i] !== wanted[i]) return false;
  return true;
}

export function scanString(body: Uint8Array, at: number): number {
  const { length } = body;
  let i = at + 1;
  while (i < length) {
    const byte = body[i] as number;
    if (byte === QUOTE) return i + 1;
    if (byte < SPACE) return IRREGULAR;
    if (byte === BACKSLASH) {
      i = scanEscape(body, i);
      if (i === IRREGULAR) return IRREGULAR;
    } else i++;
  }
  return IRREGULAR;
}

/** A string without escapes: its bytes are its text. */
export function scanPlainString(body: Uint8Array, at: number): number {
  const { length } = body;
  if (body[at] !== QUOTE) return IRREGULAR;
  for (let i = at + 1; i < length; i++) {
    const byte = body[i] as number;
    if (byte === QUOTE) return i + 1;
    if (byte < SPACE || byte === BACKSLASH) return IRREGULAR;
  }
  return IRREGULAR;
}

const HEX = membership("0123456789abcdefABCDEF");
const ESCAPED = membership('"\\/bfnrt');

function membership(text: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of Buffer.from(text)) table[byte] = 1;
  return table;
}

function scanEscape(body: Uint8Array, at: number): number {
  const letter = body[at + 1] ?? 0;
  if (letter !== LOWER_U) return ESCAPED[letter] === 1 ? at + 2 : IRREGULAR;
  for (let i = at + 2; i < at + 6; i++) if (HEX[body[i] ?? 0] !== 1) return IRREGULAR;
  return at + 6;
}

function scanNumber(body: Uint8Array, at: number): number {
  const first = body[at] === MINUS ? at + 1 : at;
  let i = scanDigits(body, first);
  if (i === first || (body[first] === ZERO && i > first + 1)) return IRREGULAR;
  if (body[i] === POINT) {
    const fraction = i + 1;
    i = scanDigits(body, fraction);
    if (i === fraction) return IRREGULAR;
  }
  if (body[i] === LOWER_E || body[i] === UPPER_E) {
    const sign = body[i + 1];
    const exponent = sign === PLUS || sign === MINUS ? i + 2 : i + 1;
    i = scanDigits(body, exponent);
    if (i === exponent) return IRREGULAR;
  }
  return i;
}

function scanDigits(body: Uint8Array, at: number): number {
  let i = at;
  for (;;) {
    const byte = body[i] ?? 0;
    if (byte < ZERO || byte > NINE) return i;
    i++;
  }
}

function scanArray(body: Uint8Array, at: number, depthLeft: number): number {
  if (depthLeft === 0) return IRREGULAR;
  let i = skipWhitespace(body, at + 1);
  if (body[i] === CLOSE_ARRAY) return i + 1;
  for (;;) {
    i = scanValue(body, i, depthLeft - 1);
    if (i === IRREGULAR) return IRREGULAR;
    i = skipWhitespace(body, i);
    const byte = body[i];
    if (byte === CLOSE_ARRAY) return i + 1;
    if (byte !== COMMA) return IRREGULAR;
    i = skipWhitespace(body, i + 1);
  }
}

export function scanObject(body: Uint8Array, at: number, depthLeft: number): number {
  if (depthLeft === 0) return IRREGULAR;
  let i = skipWhitespace(body, at + 1);
  if (body[i] === CLOSE_OBJECT) return i + 1;
  for (;;) {
    if (body[i] !== QUOTE) return IRREGULAR;
    i = scanString(body, i);
    if (i === IRREGULAR) return IRREGULAR;
    i = scanColon(body, i);
    if (i === IRREGULAR) return IRREGULAR;
    i = scanValue(body, i, depthLeft - 1);
    if (i === IRREGULAR) return IRREGULAR;
    i = skipWhitespace(body, i);
    const byte = body[i];
    if (byte === CLOSE_OBJECT) return i + 1;
    if (byte !== COMMA) return IRREGULAR;
    i = skipWhitespace(body, i + 1);
  }
}

/** An array. `scanItem` gets the index at which an item begins and returns the index after it. */
export function scanItems(body: Uint8Array, at: number, scanItem: (at: number) => number): number {
  if (body[at] !== OPEN_ARRAY) return IRREGULAR;
  let i = skipWhitespace(body, at + 1);
  if (body[i] === CLOSE_ARRAY) return i + 1;
  for (;;) {
    i = scanItem(i);
    if (i === IRREGULAR) return IRREGULAR;
    i = skipWhitespace(body, i);
    const byte = body[i];
    if (byte === CLOSE_ARRAY) return i + 1;
    if (byte !== COMMA) return IRREGULAR;
    i = skipWhitespace(body, i + 1);
  }
}

/**
 * An object. For each key that `fields` knows, `scanField` gets the field and the index of its value, and returns the index after the
 * value. A key with escapes is irregular.
 */
export function scanFields<Field>(
  body: Uint8Array,
  at: number,
  fields: { find(body: Uint8Array, at: number, end: number): Field | undefined },
  scanField: (body: Uint8Array, field: Field, value: number) => number,
): number {
  if (body[at] !== OPEN_OBJECT) return IRREGULAR;
  let i = skipWhitespace(body, at + 1);
  if (body[i] === CLOSE_OBJECT) return i + 1;
  for (;;) {
    const keyEnd = scanPlainString(body, i);
    const value = keyEnd === IRREGULAR ? IRREGULAR : scanColon(body, keyEnd);
    if (value === IRREGULAR) return IRREGULAR;
    const field = fields.find(body, i, keyEnd);
    i = field === undefined ? scanValue(body, value, MAX_DEPTH) : scanField(body, field, value);
    if (i === IRREGULAR) return IRREGULAR;
    i = skipWhitespace(body, i);
    const byte = body[i];
    if (byte === CLOSE_OBJECT) return i + 1;
    if (byte !== COMMA) return IRREGULAR;
    i = skipWhitespace(body, i + 1);
  }
}

/** From the end of a key to the index of its value. */
export function scanColon(body: Uint8Array, at: number): number {
  const colon = skipWhitespace(body, at);
  return body[colon] === COLON ? skipWhitespace(body, colon + 1) : IRREGULAR;
}
