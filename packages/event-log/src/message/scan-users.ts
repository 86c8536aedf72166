import { isUtf8 } from "node:buffer";
import { LIMITS } from "@sluice/protocol";
import { JsonNames } from "../bytes/json-names.js";
import {
  CLOSE_OBJECT,
  COMMA,
  IRREGULAR,
  MAX_DEPTH,
  matchesAt,
  NULL,
  OPEN_OBJECT,
  QUOTE,
  scanColon,
  scanFields,
  scanItems,
  scanPlainString,
  scanString,
  scanValue,
  skipWhitespace,
} from "../bytes/scan-values.js";

/** Where the messages of a batch are in its bytes, and whose they are. */
export interface BatchUsers {
  /** The index at which each message begins, and the one after its end. */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** `userHash` of each message's user. */
  readonly hashes: readonly number[];
  /** All bytes of the batch besides its messages, white space too. */
  readonly envelopeBytes: number;
  /** Bytes of the batch's own context and integrations, which are merged into each of its messages. */
  readonly bytesAround: number;
}

/**
 * Finds the messages of a batch and their users, without building values. The grammar is checked to the last byte, so a batch that is
 * found here is JSON. Messages are not validated: whoever stores them does that.
 *
 * Returns undefined where only the parser can decide: bytes that are not JSON, no messages or too many, escapes in keys of the envelope,
 * two arrays `batch`, deep nesting, an id that is an unusual number. It may give up as often as it likes, but must never find other
 * messages or users than the parser: a property test holds it to that.
 */
export function scanUsers(body: Uint8Array, seed: number): BatchUsers | undefined {
  if (!isUtf8(body)) return undefined;
  const user = new UserOfMessage(body, seed);
  const starts: number[] = [];
  const ends: number[] = [];
  const hashes: number[] = [];
  let bytesAround = 0;
  let batch: readonly [begin: number, end: number] | undefined;
  const scanMessage = (at: number): number => {
    const end = user.scan(at);
    if (end === IRREGULAR || starts.length === LIMITS.batchMessages) return IRREGULAR;
    starts.push(at);
    ends.push(end);
    hashes.push(user.hash);
    return end;
  };
  const end = scanFields(body, skipWhitespace(body, 0), ENVELOPE_FIELDS, (_, field, value) => {
    if (field === BATCH) {
      if (batch !== undefined) return IRREGULAR;
      const batchEnd = scanItems(body, value, scanMessage);
      batch = [value, batchEnd];
      return batchEnd;
    }
    // The parser refuses every other value.
    if (field === DELIVER && body[value] !== LETTER_T && body[value] !== LETTER_F) return IRREGULAR;
    const valueEnd = scanValue(body, value, MAX_DEPTH);
    if (field === AROUND) bytesAround += valueEnd - value;
    return valueEnd;
  });
  if (end === IRREGULAR || batch === undefined || starts.length === 0) return undefined;
  if (skipWhitespace(body, end) !== body.length) return undefined;
  const envelopeBytes = body.length - (batch[1] - batch[0]);
  return { starts, ends, hashes, envelopeBytes, bytesAround };
}

/** `userHash` of the user of a single message; undefined where only the parser can decide. */
export function scanUser(body: Uint8Array, seed: number): number | undefined {
  if (!isUtf8(body)) return undefined;
  const begin = skipWhitespace(body, 0);
  const user = new UserOfMessage(body, seed);
  const end = body[begin] === OPEN_OBJECT ? user.scan(begin) : IRREGULAR;
  return end === IRREGULAR || skipWhitespace(body, end) !== body.length ? undefined : user.hash;
}

const BATCH = 0;
const DELIVER = 1;
const AROUND = 2;
const ENVELOPE_FIELDS = new JsonNames<number>({
  batch: BATCH,
  deliver: DELIVER,
  context: AROUND,
  integrations: AROUND,
});
const LETTER_T = 0x74;
const LETTER_F = 0x66;

const USER_ID = 0;
const ANONYMOUS_ID = 1;
const ID_FIELDS = new JsonNames<number>({ userId: USER_ID, anonymousId: ANONYMOUS_ID });
const LONGEST_NAME = "anonymousId".length;
const NAMES: readonly (string | undefined)[] = ["userId", "anonymousId"];

/** Longer integers may not be written as they came. */
const SAFE_DIGITS = 15;
const ZERO = 0x30;
const NINE = 0x39;
const BACKSLASH = 0x5c;

/** Reads the user of one message after the other. */
class UserOfMessage {
  readonly #body: Uint8Array;
  readonly #seed: number;
  /** Of the ids, by field: where their text is. An empty one counts as absent. */
  readonly #begins = [0, 0];
  readonly #ends = [0, 0];
  /** Of an id with escapes: its text. */
  readonly #decoded: (string | undefined)[] = [undefined, undefined];

  constructor(body: Uint8Array, seed: number) {
    this.#body = body;
    this.#seed = seed;
  }

  /** `userHash` of the message that was scanned last. */
  get hash(): number {
    const field = this.#isEmpty(USER_ID) ? ANONYMOUS_ID : USER_ID;
    const text = this.#decoded[field];
    if (text !== undefined) return userHash(text, this.#seed);
    return hashBytes(this.#body, this.#begins[field] as number, this.#ends[field] as number, this.#seed);
  }

  /** The index after the message at `at`. What is no object has no user, and is refused later. */
  scan(at: number): number {
    const body = this.#body;
    this.#clear(USER_ID);
    this.#clear(ANONYMOUS_ID);
    if (body[at] !== OPEN_OBJECT) return scanValue(body, at, MAX_DEPTH);
    let i = skipWhitespace(body, at + 1);
    if (body[i] === CLOSE_OBJECT) return i + 1;
    for (;;) {
      i = this.#scanField(i);
      if (i === IRREGULAR) return IRREGULAR;
      i = skipWhitespace(body, i);
      const byte = body[i];
      if (byte === CLOSE_OBJECT) return i + 1;
      if (byte !== COMMA) return IRREGULAR;
      i = skipWhitespace(body, i + 1);
    }
  }

  /** A key and its value. */
  #scanField(at: number): number {
    const body = this.#body;
    if (body[at] !== QUOTE) return IRREGULAR;
    const plainEnd = scanPlainString(body, at);
    const keyEnd = plainEnd === IRREGULAR ? scanString(body, at) : plainEnd;
    const value = keyEnd === IRREGULAR ? IRREGULAR : scanColon(body, keyEnd);
    if (value === IRREGULAR) return IRREGULAR;
    const field = plainEnd === IRREGULAR ? escapedField(body, at, keyEnd) : ID_FIELDS.find(body, at, keyEnd);
    return field === undefined ? scanValue(body, value, MAX_DEPTH) : this.#scanId(value, field);
  }

  /** Of several values of a field, the last one counts, as for the parser. */
  #scanId(at: number, field: number): number {
    const body = this.#body;
    this.#clear(field);
    if (body[at] !== QUOTE) {
      const end = scanValue(body, at, MAX_DEPTH);
      if (end === IRREGULAR || matchesAt(body, at, NULL)) return end;
      const first = body[at] as number;
      // What is neither a string nor a number makes the message invalid.
      if (first !== MINUS && (first < ZERO || first > NINE)) return end;
      if (!isPlainInteger(body, at, end)) return IRREGULAR;
      this.#set(field, at, end);
      return end;
    }
    const plainEnd = scanPlainString(body, at);
    if (plainEnd !== IRREGULAR) {
      this.#set(field, at + 1, plainEnd - 1);
      return plainEnd;
    }
    const end = scanString(body, at);
    if (end !== IRREGULAR) this.#decoded[field] = textOf(body, at, end);
    return end;
  }

  #clear(field: number): void {
    this.#begins[field] = 0;
    this.#ends[field] = 0;
    this.#decoded[field] = undefined;
  }

  #set(field: number, begin: number, end: number): void {
    this.#begins[field] = begin;
    this.#ends[field] = end;
  }

  #isEmpty(field: number): boolean {
    return this.#begins[field] === this.#ends[field] && this.#decoded[field] === undefined;
  }
}

const MINUS = 0x2d;

/** Whether a number's text is what the parser makes of it. */
function isPlainInteger(body: Uint8Array, at: number, end: number): boolean {
  if (end - at > SAFE_DIGITS) return false;
  for (let i = at; i < end; i++) {
    const byte = body[i] as number;
    if (byte < ZERO || byte > NINE) return false;
  }
  return true;
}

/** A key with escapes, which may spell the name of an id all the same. */
function escapedField(body: Uint8Array, begin: number, end: number): number | undefined {
  // Each letter may be written as \uXXXX.
  if (end - begin > LONGEST_NAME * 6 + 2 || !body.subarray(begin, end).includes(BACKSLASH)) return undefined;
  const field = NAMES.indexOf(textOf(body, begin, end));
  return field === -1 ? undefined : field;
}

function textOf(body: Uint8Array, begin: number, end: number): string {
  return JSON.parse(
    Buffer.from(body.buffer, body.byteOffset + begin, end - begin).toString("utf8"),
  ) as string;
}

/**
 * A hash of a user's id: 32 bits that depend on `seed`. It decides in which partition a user's messages are stored, so it must never
 * change.
 */
export function userHash(user: string, seed: number): number {
  const bytes = Buffer.from(user, "utf8");
  return hashBytes(bytes, 0, bytes.length, seed);
}

/** FNV-1a, and the last step of MurmurHash3: without it, the lowest bits of similar ids are not even. */
function hashBytes(bytes: Uint8Array, begin: number, end: number, seed: number): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let i = begin; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
