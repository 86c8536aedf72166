import { isAscii, isUtf8 } from "node:buffer";
import { LIMITS, type MessageKind } from "@sluice/protocol";
import { JsonNames } from "../bytes/json-names.js";
import {
  CLOSE_OBJECT,
  COMMA,
  IRREGULAR,
  MAX_DEPTH,
  OPEN_OBJECT,
  scanColon,
  scanFields,
  scanItems,
  scanObject,
  scanPlainString,
  scanValue,
  skipWhitespace,
} from "../bytes/scan-values.js";
import type { MessageKey } from "./batch.js";
import { BROWSER_LIBRARIES } from "./fill-ip.js";

/** What ingestion has to know of a request whose messages are all regular. */
export interface ScannedRequest {
  /**
   * One for each message: none is refused, and each came with an id. Their strings are slices of the whole request's text. Copy a
   * string that outlives the request, or it keeps the whole text in memory.
   */
  readonly keys: readonly MessageKey[];
  /** The write key of the envelope, or of the single message. */
  readonly writeKey: string | undefined;
  readonly isBatch: boolean;
  /** Bytes of the batch's own context and integrations, which are merged into each of its messages. */
  readonly bytesAround: number;
  /** All bytes of the batch besides its messages, white space too. 0 for a single message. */
  readonly envelopeBytes: number;
}

/**
 * Reads a request's bytes once, without building its values: checks that it is JSON and that its messages are valid, and finds their ids.
 *
 * Returns undefined for everything irregular: bytes that are not JSON, a message that is refused or has to be coerced, a write key or
 * an address to fill in, escapes in ids, repeated keys, deep nesting. The parser and the validator then judge the request. So this may
 * give up as often as it likes, but it must never accept what those two would not: a property test holds it to that.
 */
export function scanRequest(body: Uint8Array, kind: MessageKind | undefined): ScannedRequest | undefined {
  if (body[0] !== OPEN_OBJECT) return undefined;
  const isInAscii = isAscii(body);
  if (!isInAscii && !isUtf8(body)) return undefined;
  const fields = new MessageFields(body, isInAscii);
  return kind === undefined ? scanBatch(body, fields) : scanSingle(body, kind, fields);
}

// ── Fields ───────────────────────────────────────────────────────────────────────────────────────────────

const KINDS = new JsonNames<MessageKind>({
  identify: "identify",
  track: "track",
  page: "page",
  screen: "screen",
  group: "group",
  alias: "alias",
});

/** The fields that decide whether a message is valid. */
const TYPE = 0;
const MESSAGE_ID = 1;
const USER_ID = 2;
const ANONYMOUS_ID = 3;
const EVENT = 4;
const GROUP_ID = 5;
const PREVIOUS_ID = 6;
const NAME = 7;
const CATEGORY = 8;
const WRITE_KEY = 9;
/** From here on the values are objects. */
const CONTEXT = 10;
const SOME_OBJECT = 11;

const FIELDS = new JsonNames<number>({
  type: TYPE,
  messageId: MESSAGE_ID,
  userId: USER_ID,
  anonymousId: ANONYMOUS_ID,
  event: EVENT,
  groupId: GROUP_ID,
  previousId: PREVIOUS_ID,
  name: NAME,
  category: CATEGORY,
  writeKey: WRITE_KEY,
  context: CONTEXT,
  integrations: SOME_OBJECT,
  properties: SOME_OBJECT + 1,
  traits: SOME_OBJECT + 2,
});
const BATCH = 0;
const DELIVER = 1;
const ENVELOPE_FIELDS = new JsonNames<number>({
  batch: BATCH,
  deliver: DELIVER,
  writeKey: WRITE_KEY,
  context: CONTEXT,
  integrations: SOME_OBJECT,
});
const LETTER_T = 0x74;
const LETTER_F = 0x66;
const DIRECT = 0;
const CONTEXT_FIELDS = new JsonNames<number>({ direct: DIRECT, library: 1 });
const BROWSERS = new JsonNames<true>(
  Object.fromEntries(Array.from(BROWSER_LIBRARIES, (name) => [name, true])),
);
const LIBRARY_FIELDS = new JsonNames<number>({ name: 0 });

/**
 * The string fields of one message: where each value stands in the request's bytes, quotes included. Reused for all messages of a
 * request.
 */
class MessageFields {
  readonly #body: Buffer;
  /** The whole request as text, if it is ASCII: slices of one text cost a fraction of decoding each string by itself. */
  readonly #ascii: string | undefined;
  /** By field, up to `WRITE_KEY`. */
  readonly #begins = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  readonly #ends = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  /** A bit for each field that the message has. */
  #seen = 0;

  constructor(body: Uint8Array, isInAscii: boolean) {
    this.#body = Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    this.#ascii = isInAscii ? this.#body.toString("latin1") : undefined;
  }

  clear(): void {
    this.#seen = 0;
  }

  has(field: number): boolean {
    return (this.#seen & (1 << field)) !== 0;
  }

  /** Returns false for a field that the message has already. */
  add(field: number): boolean {
    const bit = 1 << field;
    if ((this.#seen & bit) !== 0) return false;
    this.#seen |= bit;
    return true;
  }

  setString(field: number, begin: number, end: number): void {
    this.#begins[field] = begin;
    this.#ends[field] = end;
  }

  /** Bytes between the quotes; 0 for a field that the message does not have. */
  length(field: number): number {
    return this.has(field) ? (this.#ends[field] as number) - (this.#begins[field] as number) - 2 : 0;
  }

  text(field: number): string {
    return this.textBetween(this.#begins[field] as number, this.#ends[field] as number);
  }

  /** The text of a string without escapes that stands from quote to quote. */
  textBetween(begin: number, end: number): string {
    return this.#ascii === undefined
      ? this.#body.toString("utf8", begin + 1, end - 1)
      : this.#ascii.slice(begin + 1, end - 1);
  }

  kind(body: Uint8Array): MessageKind | undefined {
    return KINDS.find(body, this.#begins[TYPE] as number, this.#ends[TYPE] as number);
  }
}

// ── Requests ─────────────────────────────────────────────────────────────────────────────────────────────

function scanSingle(body: Uint8Array, kind: MessageKind, fields: MessageFields): ScannedRequest | undefined {
  const end = scanMessage(body, 0, fields);
  if (end === IRREGULAR || skipWhitespace(body, end) !== body.length) return undefined;
  const key = keyOf(fields, 0, kind);
  if (key === undefined) return undefined;
  const writeKey = fields.length(WRITE_KEY) === 0 ? undefined : fields.text(WRITE_KEY);
  return { keys: [key], writeKey, isBatch: false, bytesAround: 0, envelopeBytes: 0 };
}

function scanBatch(body: Uint8Array, fields: MessageFields): ScannedRequest | undefined {
  const keys: MessageKey[] = [];
  let writeKey: string | undefined;
  let bytesAround = 0;
  let bytesInBatch = 0;
  let seen = 0;
  const end = scanFields(body, 0, ENVELOPE_FIELDS, (_, field, value) => {
    if (seen & (1 << field)) return IRREGULAR;
    seen |= 1 << field;
    if (field === BATCH) {
      const batchEnd = scanMessages(body, value, fields, keys);
      bytesInBatch = batchEnd - value;
      return batchEnd;
    }
    if (field === WRITE_KEY) {
      const valueEnd = scanPlainString(body, value);
      if (valueEnd > value + 2) writeKey = fields.textBetween(value, valueEnd);
      return valueEnd;
    }
    if (field === DELIVER) return scanBoolean(body, value);
    const valueEnd = field === CONTEXT ? scanContext(body, value) : scanPlainObject(body, value);
    bytesAround += valueEnd - value;
    return valueEnd;
  });
  if (end === IRREGULAR || keys.length === 0 || skipWhitespace(body, end) !== body.length) return undefined;
  return { keys, writeKey, isBatch: true, bytesAround, envelopeBytes: body.length - bytesInBatch };
}

/** The parser judges every other value. */
function scanBoolean(body: Uint8Array, at: number): number {
  return body[at] === LETTER_T || body[at] === LETTER_F ? scanValue(body, at, MAX_DEPTH) : IRREGULAR;
}

/** Scans a batch's messages and adds what the log has to know of each to `keys`. */
function scanMessages(body: Uint8Array, at: number, fields: MessageFields, keys: MessageKey[]): number {
  return scanItems(body, at, (i) => {
    const end = scanMessage(body, i, fields);
    if (end === IRREGULAR || end - i > LIMITS.messageBytes || fields.has(WRITE_KEY)) return IRREGULAR;
    if (!fields.has(TYPE) || keys.length === LIMITS.batchMessages) return IRREGULAR;
    const kind = fields.kind(body);
    const key = kind && keyOf(fields, keys.length, kind);
    if (key === undefined) return IRREGULAR;
    keys.push(key);
    return end;
  });
}

// ── Messages ─────────────────────────────────────────────────────────────────────────────────────────────

/** Scans the message at `at` and puts its string fields into `fields`. Does not use `scanFields`: a direct call is 3 % faster. */
function scanMessage(body: Uint8Array, at: number, fields: MessageFields): number {
  if (body[at] !== OPEN_OBJECT) return IRREGULAR;
  fields.clear();
  let i = skipWhitespace(body, at + 1);
  for (;;) {
    const keyEnd = scanPlainString(body, i);
    const value = keyEnd === IRREGULAR ? IRREGULAR : scanColon(body, keyEnd);
    if (value === IRREGULAR) return IRREGULAR;
    const field = FIELDS.find(body, i, keyEnd);
    i =
      field === undefined ? scanValue(body, value, MAX_DEPTH) : scanMessageField(body, value, field, fields);
    if (i === IRREGULAR) return IRREGULAR;
    i = skipWhitespace(body, i);
    const byte = body[i];
    if (byte === CLOSE_OBJECT) return i + 1;
    if (byte !== COMMA) return IRREGULAR;
    i = skipWhitespace(body, i + 1);
  }
}

function scanMessageField(body: Uint8Array, value: number, field: number, fields: MessageFields): number {
  if (!fields.add(field)) return IRREGULAR;
  if (field === CONTEXT) return scanContext(body, value);
  if (field > CONTEXT) return scanPlainObject(body, value);
  const end = scanPlainString(body, value);
  fields.setString(field, value, end);
  return end;
}

function scanPlainObject(body: Uint8Array, at: number): number {
  return body[at] === OPEN_OBJECT ? scanObject(body, at, MAX_DEPTH) : IRREGULAR;
}

/** A context in which the connection's address may have to be filled in is irregular. */
function scanContext(body: Uint8Array, at: number): number {
  return scanFields(body, at, CONTEXT_FIELDS, scanContextField);
}

function scanContextField(body: Uint8Array, field: number, value: number): number {
  return field === DIRECT ? IRREGULAR : scanFields(body, value, LIBRARY_FIELDS, scanLibraryName);
}

function scanLibraryName(body: Uint8Array, _field: number, value: number): number {
  const end = scanPlainString(body, value);
  return end === IRREGULAR || BROWSERS.find(body, value, end) !== undefined ? IRREGULAR : end;
}

/** What the log has to know of the message in `fields`; undefined unless it is valid for its kind as it stands. */
function keyOf(fields: MessageFields, index: number, kind: MessageKind): MessageKey | undefined {
  const idLength = fields.length(MESSAGE_ID);
  // In bytes, so an id in another script may be shorter than it seems: the validator counts its characters.
  if (idLength === 0 || idLength >= LIMITS.messageIdLength) return undefined;
  const user = fields.length(USER_ID) > 0 ? USER_ID : ANONYMOUS_ID;
  if (fields.length(user) === 0 || !hasFieldsOf(kind, fields, user)) return undefined;
  const messageId = fields.text(MESSAGE_ID);
  const userId = fields.text(user);
  const anonymous = user === ANONYMOUS_ID ? ANONYMOUS : undefined;
  // Two literals: a second spread costs more than the rest of this function.
  return kind === "track"
    ? { index, messageId, userId, ...anonymous, type: kind, event: fields.text(EVENT) }
    : { index, messageId, userId, ...anonymous, type: kind };
}

const ANONYMOUS = { isAnonymous: true } as const;

/** Whether a message has the fields that its kind requires. */
function hasFieldsOf(kind: MessageKind, fields: MessageFields, user: number): boolean {
  switch (kind) {
    case "track":
      return fields.length(EVENT) > 0;
    case "page":
    case "screen":
      return fields.length(CATEGORY) === 0 || fields.length(NAME) > 0;
    case "group":
      return fields.length(GROUP_ID) > 0;
    case "alias":
      return fields.length(PREVIOUS_ID) > 0 && user === USER_ID;
    case "identify":
      return true;
    default:
      return kind satisfies never;
  }
}
