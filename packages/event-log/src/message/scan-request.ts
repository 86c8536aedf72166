import { isAscii, isUtf8 } from "node:buffer";
import { LIMITS, type MessageKind } from "@sluice/protocol";
import { JsonNames } from "../bytes/json-names.js";
import {
  CLOSE_OBJECT,
  COMMA,
  MOST_LEVELS,
  ODD,
  OPEN_OBJECT,
  skipBlanks,
  skipColon,
  skipFields,
  skipItems,
  skipObject,
  skipPlainString,
  skipValue,
} from "../bytes/scan-values.js";
import type { MessageKey } from "./batch.js";
import { BROWSER_LIBRARIES } from "./fill-ip.js";

/** What the door has to know of a request all of whose messages are ordinary. */
export interface SkimmedRequest {
  /**
   * One for each message: none is refused, and each came with an id. Their texts are slices of the whole request's: who keeps one for
   * longer than the request copies it.
   */
  readonly keys: readonly MessageKey[];
  /** The write key of the envelope, or of the single message. */
  readonly writeKey: string | undefined;
  readonly isBatch: boolean;
  /** What the batch's own context and integrations take, which go under each of its messages. */
  readonly bytesAround: number;
}

/**
 * Reads a request's bytes once, without making its values: is it JSON, are its messages good, what are their ids? Answers
 * undefined for whatever is not ordinary (not JSON, a message that is to be refused or brought into another form, a write key or
 * an address to be filled in, escapes in ids, keys that stand twice, deep nesting): the parser and the validator judge that. So
 * this may be as narrow as it likes, and must never take what those two would not: a property test holds it to that.
 */
export function skimRequest(body: Uint8Array, kind: MessageKind | undefined): SkimmedRequest | undefined {
  if (body[0] !== OPEN_OBJECT || !isUtf8(body)) return undefined;
  return kind === undefined ? skimBatch(body) : skimSingle(body, kind);
}

// ── Texts and names ──────────────────────────────────────────────────────────────────────────────────────

/** Makes texts of strings without escapes. Slices of one text cost a fraction of what decoding each by itself would. */
class Texts {
  readonly #body: Buffer;
  readonly #ascii: string | undefined;

  constructor(body: Uint8Array) {
    this.#body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    this.#ascii = isAscii(body) ? this.#body.toString("latin1") : undefined;
  }

  /** What stands between the quotes. */
  of(at: number, end: number): string {
    return this.#ascii === undefined
      ? this.#body.toString("utf8", at + 1, end - 1)
      : this.#ascii.slice(at + 1, end - 1);
  }
}

const KINDS = new JsonNames<MessageKind>({
  identify: "identify",
  track: "track",
  page: "page",
  screen: "screen",
  group: "group",
  alias: "alias",
});

/** The fields that a message is judged by. */
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
/** From here on: objects. */
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
const ENVELOPE_FIELDS = new JsonNames<number>({
  batch: BATCH,
  writeKey: WRITE_KEY,
  context: CONTEXT,
  integrations: SOME_OBJECT,
});
const DIRECT = 0;
const CONTEXT_FIELDS = new JsonNames<number>({ direct: DIRECT, library: 1 });
const BROWSERS = new JsonNames<true>(
  Object.fromEntries(Array.from(BROWSER_LIBRARIES, (name) => [name, true])),
);
const LIBRARY_FIELDS = new JsonNames<number>({ name: 0 });

// ── Requests ─────────────────────────────────────────────────────────────────────────────────────────────

function skimSingle(body: Uint8Array, kind: MessageKind): SkimmedRequest | undefined {
  const end = skimMessage(body, 0);
  if (end === ODD || skipBlanks(body, end) !== body.length) return undefined;
  const texts = new Texts(body);
  const key = keyOf(texts, 0, kind);
  if (key === undefined) return undefined;
  const writeKey = lengthOf(WRITE_KEY) === 0 ? undefined : fieldText(texts, WRITE_KEY);
  return { keys: [key], writeKey, isBatch: false, bytesAround: 0 };
}

function skimBatch(body: Uint8Array): SkimmedRequest | undefined {
  const texts = new Texts(body);
  const keys: MessageKey[] = [];
  let writeKey: string | undefined;
  let bytesAround = 0;
  let seen = 0;
  let i = skipBlanks(body, 1);
  for (;;) {
    const keyEnd = skipPlainString(body, i);
    const value = keyEnd === ODD ? ODD : skipColon(body, keyEnd);
    if (value === ODD) return undefined;
    const field = ENVELOPE_FIELDS.find(body, i, keyEnd);
    if (field !== undefined) {
      if (seen & (1 << field)) return undefined;
      seen |= 1 << field;
    }
    switch (field) {
      case BATCH:
        i = skimMessages(body, value, texts, keys);
        break;
      case CONTEXT:
        i = skimContext(body, value);
        bytesAround += i - value;
        break;
      case SOME_OBJECT:
        i = skipOrdinaryObject(body, value);
        bytesAround += i - value;
        break;
      case WRITE_KEY:
        i = skipPlainString(body, value);
        if (i > value + 2) writeKey = texts.of(value, i);
        break;
      default:
        i = skipValue(body, value, MOST_LEVELS);
    }
    if (i === ODD) return undefined;
    i = skipBlanks(body, i);
    if (body[i] === CLOSE_OBJECT) break;
    if (body[i] !== COMMA) return undefined;
    i = skipBlanks(body, i + 1);
  }
  if (keys.length === 0 || skipBlanks(body, i + 1) !== body.length) return undefined;
  return { keys, writeKey, isBatch: true, bytesAround };
}

/** A batch's messages; what is to be known of them is added to `keys`. */
function skimMessages(body: Uint8Array, at: number, texts: Texts, keys: MessageKey[]): number {
  return skipItems(body, at, (i) => {
    const end = skimMessage(body, i);
    if (end === ODD || end - i > LIMITS.messageBytes || ends[WRITE_KEY] !== 0) return ODD;
    if (ends[TYPE] === 0 || keys.length === LIMITS.batchMessages) return ODD;
    const kind = KINDS.find(body, begins[TYPE] as number, ends[TYPE] as number);
    const key = kind && keyOf(texts, keys.length, kind);
    if (key === undefined) return ODD;
    keys.push(key);
    return end;
  });
}

// ── Messages ─────────────────────────────────────────────────────────────────────────────────────────────

/** Where the strings of the message that was read last stand, by field, quotes included; ends are 0 where it has none. */
const begins = new Int32Array(CONTEXT);
const ends = new Int32Array(CONTEXT);

function skimMessage(body: Uint8Array, at: number): number {
  if (body[at] !== OPEN_OBJECT) return ODD;
  for (let field = 0; field < CONTEXT; field++) ends[field] = 0;
  let seen = 0;
  let i = skipBlanks(body, at + 1);
  for (;;) {
    const keyEnd = skipPlainString(body, i);
    const value = keyEnd === ODD ? ODD : skipColon(body, keyEnd);
    if (value === ODD) return ODD;
    const field = FIELDS.find(body, i, keyEnd);
    if (field === undefined) i = skipValue(body, value, MOST_LEVELS);
    else {
      if (seen & (1 << field)) return ODD;
      seen |= 1 << field;
      if (field < CONTEXT) {
        i = skipPlainString(body, value);
        begins[field] = value;
        ends[field] = i;
      } else i = field === CONTEXT ? skimContext(body, value) : skipOrdinaryObject(body, value);
    }
    if (i === ODD) return ODD;
    i = skipBlanks(body, i);
    const byte = body[i];
    if (byte === CLOSE_OBJECT) return i + 1;
    if (byte !== COMMA) return ODD;
    i = skipBlanks(body, i + 1);
  }
}

function skipOrdinaryObject(body: Uint8Array, at: number): number {
  return body[at] === OPEN_OBJECT ? skipObject(body, at, MOST_LEVELS) : ODD;
}

/** A context that may want the connection's address filled in is not ordinary. */
function skimContext(body: Uint8Array, at: number): number {
  return skipFields(body, at, CONTEXT_FIELDS, skimContextField);
}

function skimContextField(body: Uint8Array, field: number, value: number): number {
  return field === DIRECT ? ODD : skipFields(body, value, LIBRARY_FIELDS, skimLibraryName);
}

function skimLibraryName(body: Uint8Array, _field: number, value: number): number {
  const end = skipPlainString(body, value);
  return end === ODD || BROWSERS.find(body, value, end) !== undefined ? ODD : end;
}

/** What the log must know of the message that was read last; undefined unless it is as a message of its kind has to be. */
function keyOf(texts: Texts, index: number, kind: MessageKind): MessageKey | undefined {
  const idLength = lengthOf(MESSAGE_ID);
  // In bytes: an id with letters of other scripts may be shorter than it seems, and is measured by the validator.
  if (idLength === 0 || idLength >= LIMITS.messageIdLength) return undefined;
  const user = lengthOf(USER_ID) > 0 ? USER_ID : ANONYMOUS_ID;
  if (lengthOf(user) === 0) return undefined;
  const anonymous = user === ANONYMOUS_ID ? { isAnonymous: true as const } : undefined;
  switch (kind) {
    case "track":
      if (lengthOf(EVENT) === 0) return undefined;
      return {
        index,
        messageId: fieldText(texts, MESSAGE_ID),
        userId: fieldText(texts, user),
        ...anonymous,
        type: kind,
        event: fieldText(texts, EVENT),
      };
    case "page":
    case "screen":
      if (lengthOf(CATEGORY) > 0 && lengthOf(NAME) === 0) return undefined;
      break;
    case "group":
      if (lengthOf(GROUP_ID) === 0) return undefined;
      break;
    case "alias":
      if (lengthOf(PREVIOUS_ID) === 0 || user !== USER_ID) return undefined;
      break;
    case "identify":
      break;
    default:
      kind satisfies never;
  }
  return {
    index,
    messageId: fieldText(texts, MESSAGE_ID),
    userId: fieldText(texts, user),
    ...anonymous,
    type: kind,
  };
}

/** The bytes between a field's quotes; 0 for one that is not there. */
function lengthOf(field: number): number {
  const end = ends[field] as number;
  return end === 0 ? 0 : end - (begins[field] as number) - 2;
}

function fieldText(texts: Texts, field: number): string {
  return texts.of(begins[field] as number, ends[field] as number);
}
