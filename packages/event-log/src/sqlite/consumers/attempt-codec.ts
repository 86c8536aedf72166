import type { Offset } from "../../message/offset.js";
import type { Attempt } from "../../ports/consumers.js";
import { ByteReader, ByteWriter } from "../calls/bytes.js";
import { ABSENT, ATTEMPT, encodeSettlement } from "../calls/settle-request.js";
import { MOST_STRINGS, type Strings, WRITTEN_OUT } from "./strings.js";

/*
 * An attempt has two kinds of text. URL, address, error code and request headers are shared by many messages: they are in `Strings`.
 * What the receiver answered and the error's message may repeat what a message said: these contents are written out in the
 * attempt's own chunk, once, and further attempts of that chunk refer to them. So a purge that writes the chunk anew without a user's
 * attempts leaves none of their bytes behind, and touches nothing that another message's attempt says.
 *
 * A content is 0 and its text; or, from `FIRST_CONTENT` on, a number of those written out in the chunk before; or, as older versions
 * wrote it, a number of `Strings`.
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

/** Writes attempts one after the other, each told by how it differs from the one before. */
export class AttemptEncoder {
  readonly #strings: Strings;
  readonly #contents = new Map<string, number>();
  #lastOffset: number;
  #lastAtMs = 0;
  /** What is alike in most attempts, as one text. */
  #lastTexts: string | undefined;

  constructor(strings: Strings, base: number) {
    this.#strings = strings;
    this.#lastOffset = base;
  }

  write(record: Float64Array, texts: readonly string[], to: ByteWriter): void {
    const text = (field: keyof typeof ATTEMPT): string | undefined => texts[record[ATTEMPT[field]] ?? ABSENT];
    const url = text("url") ?? "";
    const address = text("address");
    const status = record[ATTEMPT.status] ?? ABSENT;
    const errorCode = text("errorCode");
    const errorMessage = text("errorMessage") ?? "";
    const headers = text("headers");
    const response = text("response");
    const replay = record[ATTEMPT.replay] ?? ABSENT;
    const flags =
      (address === undefined ? 0 : HAS_ADDRESS) |
      (status === ABSENT ? 0 : HAS_STATUS) |
      (errorCode === undefined ? 0 : HAS_ERROR) |
      (headers === undefined ? 0 : HAS_HEADERS) |
      (response === undefined ? 0 : HAS_RESPONSE) |
      (replay === ABSENT ? 0 : HAS_REPLAY) |
      (replay === 1 ? IS_REPLAY : 0);
    const all = [flags, url, address, status, errorCode, errorMessage, headers, response].join("\0");
    const isSame = all === this.#lastTexts;
    this.#lastTexts = all;
    to.byte(flags | (isSame ? SAME : 0));
    to.varint(record[ATTEMPT.attempt] ?? 0);
    to.varint(Math.max(0, Math.round((record[ATTEMPT.latencyMs] ?? 0) * 1000)));
    if (!isSame) {
      this.#strings.write(url, to);
      if (address !== undefined) this.#strings.write(address, to);
      if (status !== ABSENT) to.varint(status);
      if (errorCode !== undefined) {
        this.#strings.write(errorCode, to);
        this.#writeContent(errorMessage, to);
      }
      if (headers !== undefined) this.#strings.write(headers, to);
      if (response !== undefined) this.#writeContent(response, to);
    }
    const offset = record[ATTEMPT.offset] ?? 0;
    const atMs = record[ATTEMPT.atMs] ?? 0;
    to.signed(offset - this.#lastOffset);
    to.signed(atMs - this.#lastAtMs);
    this.#lastOffset = offset;
    this.#lastAtMs = atMs;
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

/** Attempts as a chunk's data; within a transaction. */
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

/** An attempt, and what it refers to among the shared texts. */
export interface StoredAttempt {
  readonly attempt: Attempt;
  readonly texts: readonly number[];
  /** Contents of an older version, which stand among the shared texts. */
  readonly contents: readonly number[];
}

/** Throws where the bytes are no attempts. */
export function readStoredAttempts(data: Uint8Array, base: number, strings: Strings): StoredAttempt[] {
  const reader = new AttemptReader(data, strings);
  const attempts: StoredAttempt[] = [];
  let offset = base;
  let atMs = 0;
  let last: AttemptTexts = { of: { url: "" }, texts: [], contents: [] };
  while (!reader.done) {
    const flags = reader.byte();
    const attempt = reader.varint();
    // Rounds count from 1; bytes that were lost are zeros mostly.
    if (attempt === 0) throw new RangeError("an attempt has no number");
    const latencyMs = reader.varint() / 1000;
    if (!(flags & SAME)) last = reader.texts(flags);
    offset += reader.signed();
    atMs += reader.signed();
    const { of, texts, contents } = last;
    attempts.push({
      attempt: { offset: offset as Offset, attempt, atMs, latencyMs, ...of },
      texts,
      contents,
    });
  }
  return attempts;
}

/** Throws where the bytes are no attempts. */
export function readAttempts(data: Uint8Array, base: number, strings: Strings): Attempt[] {
  return readStoredAttempts(data, base, strings).map(({ attempt }) => attempt);
}

interface AttemptTexts {
  /** What is alike in most attempts. */
  readonly of: Pick<
    Attempt,
    "url" | "address" | "status" | "error" | "requestHeaders" | "response" | "replay"
  >;
  readonly texts: readonly number[];
  readonly contents: readonly number[];
}

class AttemptReader extends ByteReader {
  readonly #strings: Strings;
  readonly #contents: string[] = [];

  constructor(data: Uint8Array, strings: Strings) {
    super(data);
    this.#strings = strings;
  }

  texts(flags: number): AttemptTexts {
    const texts: number[] = [];
    const contents: number[] = [];
    const shared = (): string => this.#strings.read(this, (no) => texts.push(no));
    const url = shared();
    const address = flags & HAS_ADDRESS ? shared() : undefined;
    const status = flags & HAS_STATUS ? this.varint() : undefined;
    const error = flags & HAS_ERROR ? { code: shared(), message: this.#content(contents) } : undefined;
    const headers = flags & HAS_HEADERS ? headersOf(shared()) : undefined;
    const response = flags & HAS_RESPONSE ? this.#content(contents) : undefined;
    return {
      of: {
        url,
        ...(address === undefined ? {} : { address }),
        ...(status === undefined ? {} : { status }),
        ...(error === undefined ? {} : { error }),
        ...(headers === undefined ? {} : { requestHeaders: headers }),
        ...(response === undefined ? {} : { response }),
        ...(flags & HAS_REPLAY ? { replay: (flags & IS_REPLAY) !== 0 } : {}),
      },
      texts,
      contents,
    };
  }

  #content(referred: number[]): string {
    const no = this.varint();
    if (no === WRITTEN_OUT) {
      const text = this.text();
      this.#contents.push(text);
      return text;
    }
    if (no < FIRST_CONTENT) {
      referred.push(no);
      return this.#strings.textOf(no);
    }
    const text = this.#contents[no - FIRST_CONTENT];
    if (text === undefined) throw new RangeError("an attempt refers to a text that is not there");
    return text;
  }
}

/** Undefined for what is no set of headers: an older version overwrote such texts when a user whose data had a word of theirs was deleted. */
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
