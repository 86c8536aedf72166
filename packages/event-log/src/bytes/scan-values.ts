/**
 * JSON's grammar over bytes, without making values: each function takes where something begins and answers where it ends, or
 * `ODD`. What it accepts `JSON.parse` accepts too; what it does not accept may still be JSON (nested too deep, say). The bytes
 * must be UTF-8.
 */

/** Nested deeper than this, in a field that is looked into or passed, is odd. */
export const MOST_LEVELS = 32;

/** What these functions answer in the place of where they stopped. */
export const ODD = -1;

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

/** The next byte that is no white space. */
export function skipBlanks(body: Uint8Array, at: number): number {
  let i = at;
  for (;;) {
    const byte = body[i] ?? 0xff;
    if (byte > SPACE) return i;
    if (byte !== SPACE && byte !== LINE_FEED && byte !== CARRIAGE_RETURN && byte !== TAB) return i;
    i++;
  }
}

export function skipValue(body: Uint8Array, at: number, levelsLeft: number): number {
  switch (body[at]) {
    case QUOTE:
      return skipString(body, at);
    case OPEN_OBJECT:
      return skipObject(body, at, levelsLeft);
    case OPEN_ARRAY:
      return skipArray(body, at, levelsLeft);
    case LOWER_T:
      return standsAt(body, at, TRUE) ? at + TRUE.length : ODD;
    case LOWER_F:
      return standsAt(body, at, FALSE) ? at + FALSE.length : ODD;
    case LOWER_N:
      return standsAt(body, at, NULL) ? at + NULL.length : ODD;
    default:
      return skipNumber(body, at);
  }
}

/** Whether these bytes stand there. */
export function standsAt(body: Uint8Array, at: number, wanted: Uint8Array): boolean {
  for (let i = 0; i < wanted.length; i++) if (body[at + i] !== wanted[i]) return false;
  return true;
}

function skipString(body: Uint8Array, at: number): number {
  const { length } = body;
  let i = at + 1;
  while (i < length) {
    const byte = body[i] as number;
    if (byte === QUOTE) return i + 1;
    if (byte < SPACE) return ODD;
    if (byte === BACKSLASH) {
      i = skipEscape(body, i);
      if (i === ODD) return ODD;
    } else i++;
  }
  return ODD;
}

/** A string in which nothing is escaped: its bytes are its text. */
export function skipPlainString(body: Uint8Array, at: number): number {
  const { length } = body;
  if (body[at] !== QUOTE) return ODD;
  for (let i = at + 1; i < length; i++) {
    const byte = body[i] as number;
    if (byte === QUOTE) return i + 1;
    if (byte < SPACE || byte === BACKSLASH) return ODD;
  }
  return ODD;
}

const HEX = membership("0123456789abcdefABCDEF");
const ESCAPED = membership('"\\/bfnrt');

function membership(text: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of Buffer.from(text)) table[byte] = 1;
  return table;
}

function skipEscape(body: Uint8Array, at: number): number {
  const letter = body[at + 1] ?? 0;
  if (letter !== LOWER_U) return ESCAPED[letter] === 1 ? at + 2 : ODD;
  for (let i = at + 2; i < at + 6; i++) if (HEX[body[i] ?? 0] !== 1) return ODD;
  return at + 6;
}

function skipNumber(body: Uint8Array, at: number): number {
  const first = body[at] === MINUS ? at + 1 : at;
  let i = skipDigits(body, first);
  if (i === first || (body[first] === ZERO && i > first + 1)) return ODD;
  if (body[i] === POINT) {
    const fraction = i + 1;
    i = skipDigits(body, fraction);
    if (i === fraction) return ODD;
  }
  if (body[i] === LOWER_E || body[i] === UPPER_E) {
    const sign = body[i + 1];
    const exponent = sign === PLUS || sign === MINUS ? i + 2 : i + 1;
    i = skipDigits(body, exponent);
    if (i === exponent) return ODD;
  }
  return i;
}

function skipDigits(body: Uint8Array, at: number): number {
  let i = at;
  for (;;) {
    const byte = body[i] ?? 0;
    if (byte < ZERO || byte > NINE) return i;
    i++;
  }
}

function skipArray(body: Uint8Array, at: number, levelsLeft: number): number {
  if (levelsLeft === 0) return ODD;
  let i = skipBlanks(body, at + 1);
  if (body[i] === CLOSE_ARRAY) return i + 1;
  for (;;) {
    i = skipValue(body, i, levelsLeft - 1);
    if (i === ODD) return ODD;
    i = skipBlanks(body, i);
    const byte = body[i];
    if (byte === CLOSE_ARRAY) return i + 1;
    if (byte !== COMMA) return ODD;
    i = skipBlanks(body, i + 1);
  }
}

export function skipObject(body: Uint8Array, at: number, levelsLeft: number): number {
  if (levelsLeft === 0) return ODD;
  let i = skipBlanks(body, at + 1);
  if (body[i] === CLOSE_OBJECT) return i + 1;
  for (;;) {
    if (body[i] !== QUOTE) return ODD;
    i = skipString(body, i);
    if (i === ODD) return ODD;
    i = skipColon(body, i);
    if (i === ODD) return ODD;
    i = skipValue(body, i, levelsLeft - 1);
    if (i === ODD) return ODD;
    i = skipBlanks(body, i);
    const byte = body[i];
    if (byte === CLOSE_OBJECT) return i + 1;
    if (byte !== COMMA) return ODD;
    i = skipBlanks(body, i + 1);
  }
}

/** The items of an array; `skipItem` is told where one begins, and answers where it ends. */
export function skipItems(body: Uint8Array, at: number, skipItem: (at: number) => number): number {
  if (body[at] !== OPEN_ARRAY) return ODD;
  let i = skipBlanks(body, at + 1);
  if (body[i] === CLOSE_ARRAY) return i + 1;
  for (;;) {
    i = skipItem(i);
    if (i === ODD) return ODD;
    i = skipBlanks(body, i);
    const byte = body[i];
    if (byte === CLOSE_ARRAY) return i + 1;
    if (byte !== COMMA) return ODD;
    i = skipBlanks(body, i + 1);
  }
}

/**
 * An object some of whose fields are looked into: `skipField` is told which, and where its value begins, and answers where that
 * ends. A key that is written with escapes is odd.
 */
export function skipFields<Field>(
  body: Uint8Array,
  at: number,
  fields: { find(body: Uint8Array, at: number, end: number): Field | undefined },
  skipField: (body: Uint8Array, field: Field, value: number) => number,
): number {
  if (body[at] !== OPEN_OBJECT) return ODD;
  let i = skipBlanks(body, at + 1);
  if (body[i] === CLOSE_OBJECT) return i + 1;
  for (;;) {
    const keyEnd = skipPlainString(body, i);
    const value = keyEnd === ODD ? ODD : skipColon(body, keyEnd);
    if (value === ODD) return ODD;
    const field = fields.find(body, i, keyEnd);
    i = field === undefined ? skipValue(body, value, MOST_LEVELS) : skipField(body, field, value);
    if (i === ODD) return ODD;
    i = skipBlanks(body, i);
    const byte = body[i];
    if (byte === CLOSE_OBJECT) return i + 1;
    if (byte !== COMMA) return ODD;
    i = skipBlanks(body, i + 1);
  }
}

/** From the end of a key to the beginning of its value. */
export function skipColon(body: Uint8Array, at: number): number {
  const colon = skipBlanks(body, at);
  return body[colon] === COLON ? skipBlanks(body, colon + 1) : ODD;
}
