import type { Offset } from "../../message/batch.js";
import type { Attempt } from "../../ports/consumers.js";
import { ByteReader, ByteWriter } from "../calls/bytes.js";
import { ABSENT, ATTEMPT, encodeSettlement } from "../calls/settle-request.js";
import { MOST_STRINGS, type Strings, WRITTEN_OUT } from "./outcome-codec.js";

/*
 * An attempt has two kinds of text. Many messages share URLs, addresses, error codes and request headers, so these are in `Strings`. The
 * receiver's response with its headers and the error's message may repeat a message's data: these contents are stored in the attempt's own chunk, once, and
 * later attempts of the chunk refer to them. So a purge that rewrites the chunk without a user's attempts removes all of their bytes, and
 * does not change the attempts of other messages.
 *
 * A content is 0 and then its text, or `FIRST_CONTENT` plus the index of a content that is already in the chunk.
 */
const FIRST_CONTENT = MOST_STRINGS + 1;

const SAME = 1 << 0;
const HAS_ADDRESS = 1 << 1;
const HAS_STATUS = 1 << 2;
const HAS_ERROR = 1 << 3;
const HAS_HEADERS = 1 << 4;
const HAS_RESPONSE = 1 << 5;
const HAS_REPLAY = 1 << 6;
const IS_REPLAY = 1 << 7;

/*
 * All bits of the flags are taken. `IS_REPLAY` without `HAS_REPLAY` says that the shared fields start with a second byte of flags, which
 * then has the two.
 */
const HAS_RESPONSE_HEADERS = 1 << 0;
const HAS_TRANSFORMATION = 1 << 1;

/** Writes consecutive attempts, each as its difference from the previous one. */
export class AttemptEncoder {
  readonly #strings: Strings;
  readonly #contents = new Map<string, number>();
  #lastOffset: number;
  #lastAtMs = 0;
  /** The fields that most attempts share, joined. */
  #lastTexts: string | undefined;

  constructor(strings: Strings, base: number) {
    this.#strings = strings;
    this.#lastOffset = base;
  }

  write(record: Float64Array, texts: readonly string[], to: ByteWriter): void {
    const shared = sharedFieldsOf(record, texts);
    const { flags, moreFlags, url, address, status, errorCode, errorMessage } = shared;
    const { headers, response, responseHeaders, transformation } = shared;
    const contents = [errorMessage, response, responseHeaders];
    const all = [
      flags,
      moreFlags,
      url,
      address,
      status,
      errorCode,
      headers,
      transformation,
      ...contents,
    ].join("\0");
    const isSame = all === this.#lastTexts;
    this.#lastTexts = all;
    to.byte(flags | (isSame ? SAME : 0));
    to.varint(record[ATTEMPT.attempt] ?? 0);
    to.varint(Math.max(0, Math.round((record[ATTEMPT.latencyMs] ?? 0) * 1000)));
    if (!isSame) this.#writeShared(shared, to);
    const offset = record[ATTEMPT.offset] ?? 0;
    const atMs = record[ATTEMPT.atMs] ?? 0;
    to.signed(offset - this.#lastOffset);
    to.signed(atMs - this.#lastAtMs);
    this.#lastOffset = offset;
    this.#lastAtMs = atMs;
  }

  #writeShared(fields: SharedFields, to: ByteWriter): void {
    const { moreFlags, url, address, status, errorCode, errorMessage, headers, response } = fields;
    const { responseHeaders, transformation } = fields;
    if (moreFlags !== undefined) to.byte(moreFlags);
    this.#strings.write(url, to);
    if (address !== undefined) this.#strings.write(address, to);
    if (status !== ABSENT) to.varint(status);
    if (errorCode !== undefined) {
      this.#strings.write(errorCode, to);
      this.#writeContent(errorMessage, to);
    }
    if (headers !== undefined) this.#strings.write(headers, to);
    if (response !== undefined) this.#writeContent(response, to);
    if (responseHeaders !== undefined) this.#writeContent(responseHeaders, to);
    if (transformation !== undefined) this.#strings.write(transformation, to);
  }

  #writeContent(text: string, to: ByteWriter): void {
    const place = this.#contents.get(text);
    if (place !== undefined) {
      to.varint(FIRST_CONTENT + place);
      return;
    }
    this.#contents.set(text, this.#contents.size);
    to.varint(WRITTEN_OUT);
    to.text(text);
  }
}

/** The fields that are written once for consecutive attempts that agree in all of them. */
interface SharedFields {
  readonly flags: number;
  /** The second byte of flags. */
  readonly moreFlags: number | undefined;
  readonly url: string;
  readonly address: string | undefined;
  readonly status: number;
  readonly errorCode: string | undefined;
  readonly errorMessage: string;
  readonly headers: string | undefined;
  readonly response: string | undefined;
  readonly responseHeaders: string | undefined;
  readonly transformation: string | undefined;
}

function sharedFieldsOf(record: Float64Array, texts: readonly string[]): SharedFields {
  const text = (field: keyof typeof ATTEMPT): string | undefined => texts[record[ATTEMPT[field]] ?? ABSENT];
  const address = text("address");
  const status = record[ATTEMPT.status] ?? ABSENT;
  const errorCode = text("errorCode");
  const headers = text("headers");
  const response = text("response");
  const responseHeaders = text("responseHeaders");
  const transformation = text("transformation");
  const replay = replayFlags(record[ATTEMPT.replay] ?? ABSENT);
  const more =
    (responseHeaders === undefined ? 0 : HAS_RESPONSE_HEADERS) |
    (transformation === undefined ? 0 : HAS_TRANSFORMATION);
  const moreFlags = more === 0 ? undefined : more | replay;
  const flags =
    (address === undefined ? 0 : HAS_ADDRESS) |
    (status === ABSENT ? 0 : HAS_STATUS) |
    (errorCode === undefined ? 0 : HAS_ERROR) |
    (headers === undefined ? 0 : HAS_HEADERS) |
    (response === undefined ? 0 : HAS_RESPONSE) |
    (moreFlags === undefined ? replay : IS_REPLAY);
  const url = text("url") ?? "";
  const errorMessage = text("errorMessage") ?? "";
  return {
    flags,
    moreFlags,
    url,
    address,
    status,
    errorCode,
    errorMessage,
    headers,
    response,
    responseHeaders,
    transformation,
  };
}

function replayFlags(replay: number): number {
  if (replay === ABSENT) return 0;
  return replay === 1 ? HAS_REPLAY | IS_REPLAY : HAS_REPLAY;
}

/** Encodes attempts as the data of a chunk. Within a transaction. */
export function writeAttempts(attempts: readonly Attempt[], base: number, strings: Strings): Uint8Array {
  const { attempts: records, strings: texts } = encodeSettlement(
    "",
    { cursor: base as Offset, outcomes: [], retries: [], attempts },
    0,
  );
  const writer = new ByteWriter();
  const encoder = new AttemptEncoder(strings, base);
  for (let at = 0; at < records.length; at += ATTEMPT.size) {
    encoder.write(records.subarray(at, at + ATTEMPT.size), texts, writer);
  }
  return writer.view();
}

/** Throws a `RangeError` if the bytes are not attempts. */
export function readAttempts(data: Uint8Array, base: number, strings: Strings): Attempt[] {
  const reader = new AttemptReader(data, strings);
  const attempts: Attempt[] = [];
  let offset = base;
  let atMs = 0;
  let last: SharedTexts = { url: "" };
  while (!reader.done) {
    const flags = reader.byte();
    const attempt = reader.varint();
    // Attempts count from 1. Lost bytes are mostly zeros.
    if (attempt === 0) throw new RangeError("an attempt has no number");
    const latencyMs = reader.varint() / 1000;
    if (!(flags & SAME)) last = reader.shared(flags);
    offset += reader.signed();
    atMs += reader.signed();
    attempts.push({ offset: offset as Offset, attempt, atMs, latencyMs, ...last });
  }
  return attempts;
}

/** The fields that most attempts share. */
type SharedTexts = Pick<
  Attempt,
  | "url"
  | "address"
  | "status"
  | "error"
  | "requestHeaders"
  | "response"
  | "responseHeaders"
  | "replay"
  | "transformation"
>;

class AttemptReader extends ByteReader {
  readonly #strings: Strings;
  readonly #contents: string[] = [];

  constructor(data: Uint8Array, strings: Strings) {
    super(data);
    this.#strings = strings;
  }

  shared(flags: number): SharedTexts {
    const hasMore = (flags & (HAS_REPLAY | IS_REPLAY)) === IS_REPLAY;
    const moreFlags = hasMore ? this.byte() : flags & (HAS_REPLAY | IS_REPLAY);
    const shared = (): string => this.#strings.read(this);
    const url = shared();
    const address = flags & HAS_ADDRESS ? shared() : undefined;
    const status = flags & HAS_STATUS ? this.varint() : undefined;
    const error = flags & HAS_ERROR ? { code: shared(), message: this.#content() } : undefined;
    const headers = flags & HAS_HEADERS ? headersOf(shared()) : undefined;
    const response = flags & HAS_RESPONSE ? this.#content() : undefined;
    const more = this.#more(moreFlags);
    return {
      url,
      ...(address === undefined ? {} : { address }),
      ...(status === undefined ? {} : { status }),
      ...(error === undefined ? {} : { error }),
      ...(headers === undefined ? {} : { requestHeaders: headers }),
      ...(response === undefined ? {} : { response }),
      ...more,
      ...(moreFlags & HAS_REPLAY ? { replay: (moreFlags & IS_REPLAY) !== 0 } : {}),
    };
  }

  /** What the second byte of flags says is there. */
  #more(flags: number): Pick<SharedTexts, "responseHeaders" | "transformation"> {
    return {
      ...(flags & HAS_RESPONSE_HEADERS ? { responseHeaders: responseHeadersOf(this.#content()) } : {}),
      ...(flags & HAS_TRANSFORMATION ? { transformation: this.#strings.read(this) } : {}),
    };
  }

  #content(): string {
    const no = this.varint();
    if (no === WRITTEN_OUT) {
      const text = this.text();
      this.#contents.push(text);
      return text;
    }
    const text = this.#contents[no - FIRST_CONTENT];
    if (text === undefined) throw new RangeError("an attempt refers to a text that does not exist");
    return text;
  }
}

function responseHeadersOf(json: string): Attempt["responseHeaders"] {
  try {
    return JSON.parse(json) as Attempt["responseHeaders"];
  } catch (cause) {
    throw new RangeError("the response headers of an attempt cannot be read", { cause });
  }
}

/** Undefined if the text is not a JSON object: a repair replaces lost texts. */
function headersOf(json: string): Attempt["requestHeaders"] {
  try {
    const headers: unknown = JSON.parse(json);
    return typeof headers === "object" && headers !== null
      ? (headers as Attempt["requestHeaders"])
      : undefined;
  } catch {
    return undefined;
  }
}
