import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Attempt, FinalState, Offset } from "../../store.js";
import { ByteReader, ByteWriter } from "../bytes.js";
import { ABSENT, ATTEMPT, encodeSettlement, FINAL_STATES } from "../settle-request.js";
import type { Strings } from "./strings.js";

/**
 * Outcomes and attempts of one consumer, one after the other, each told by how it differs from the one before: three bytes
 * for a delivered message's outcome, about seven for its attempt. The newest chunk of each is in memory and is written again with each
 * commit that adds to it, until it is full; so the healthy path writes a row for every thousand messages or so.
 */
export const STREAM = { outcomes: 0, attempts: 1 } as const;
export type Stream = (typeof STREAM)[keyof typeof STREAM];

/** Two chunks and their row headers fill a page. */
const FULL_BYTES = 3600;
/** How far from its base a chunk's messages may be: a look-up has to ask only chunks that end this near. */
export const REACH = 65_536;

export interface OutcomeEntry {
  readonly offset: number;
  readonly state: FinalState;
  readonly reason: string;
  readonly atMs: number;
}

const SAME_REASON = 1 << 3;
const STATE_BITS = 0b111;

/** The chunk that is being written. */
export class ChunkWriter {
  readonly #stream: Stream;
  readonly #strings: Strings;
  readonly #writer = new ByteWriter(FULL_BYTES + 512);
  /** Its row, once it was written. */
  no: number | undefined;
  base = 0;
  min = 0;
  max = 0;
  mask = 0;
  isChanged = false;
  #lastOffset = 0;
  #lastAtMs = 0;
  #lastTexts = "";

  constructor(stream: Stream, strings: Strings) {
    this.#stream = stream;
    this.#strings = strings;
  }

  /** Whether an entry for this offset belongs into the chunk; else it must be begun anew. */
  takes(offset: number): boolean {
    return (
      this.#writer.length > 0 && this.#writer.length < FULL_BYTES && Math.abs(offset - this.base) < REACH
    );
  }

  begin(offset: number): void {
    this.#writer.clear();
    this.no = undefined;
    this.base = offset;
    this.min = offset;
    this.max = offset;
    this.mask = 0;
    this.isChanged = false;
    this.#lastOffset = offset;
    this.#lastAtMs = 0;
    this.#lastTexts = "";
  }

  /** What is added next begins a new chunk: the row of this one was changed. */
  end(): void {
    this.#writer.clear();
    this.no = undefined;
    this.isChanged = false;
  }

  addOutcome(entry: OutcomeEntry): void {
    const state = FINAL_STATES.indexOf(entry.state);
    const isSame = this.#lastTexts === entry.reason && this.#writer.length > 0;
    this.#writer.byte(state | (isSame ? SAME_REASON : 0));
    this.#place(entry.offset, entry.atMs);
    if (!isSame) this.#strings.write(entry.reason, "own", this.#writer);
    this.#lastTexts = entry.reason;
    this.mask |= 1 << state;
  }

  addAttempt(record: Float64Array, strings: readonly string[]): void {
    writeAttempt(this.#writer, this.#strings, record, strings, (signature) => {
      const isSame = this.#lastTexts === signature && this.#writer.length > 0;
      this.#lastTexts = signature;
      return isSame;
    });
    this.#place(record[ATTEMPT.offset] ?? 0, record[ATTEMPT.atMs] ?? 0);
  }

  #place(offset: number, atMs: number): void {
    this.#writer.signed(offset - this.#lastOffset);
    this.#writer.signed(atMs - this.#lastAtMs);
    this.#lastOffset = offset;
    this.#lastAtMs = atMs;
    this.min = Math.min(this.min, offset);
    this.max = Math.max(this.max, offset);
    this.isChanged = true;
  }

  get data(): Uint8Array {
    return this.#writer.view();
  }

  get stream(): Stream {
    return this.#stream;
  }
}

const SAME = 1 << 0;
const HAS_ADDRESS = 1 << 1;
const HAS_STATUS = 1 << 2;
const HAS_ERROR = 1 << 3;
const HAS_HEADERS = 1 << 4;
const HAS_RESPONSE = 1 << 5;
const HAS_REPLAY = 1 << 6;
const IS_REPLAY = 1 << 7;

/** Writes an attempt but for its offset and time. `isSame` is told what is alike in most attempts, as one text. */
function writeAttempt(
  writer: ByteWriter,
  strings: Strings,
  record: Float64Array,
  texts: readonly string[],
  isSame: (signature: string) => boolean,
): void {
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
  const same = isSame([flags, url, address, status, errorCode, errorMessage, headers, response].join("\0"));
  writer.byte(flags | (same ? SAME : 0));
  writer.varint(record[ATTEMPT.attempt] ?? 0);
  writer.varint(Math.max(0, Math.round((record[ATTEMPT.latencyMs] ?? 0) * 1000)));
  if (same) return;
  strings.write(url, "own", writer);
  if (address !== undefined) strings.write(address, "own", writer);
  if (status !== ABSENT) writer.varint(status);
  if (errorCode !== undefined) {
    strings.write(errorCode, "own", writer);
    strings.write(errorMessage, "own", writer);
  }
  if (headers !== undefined) strings.write(headers, "answer", writer);
  if (response !== undefined) strings.write(response, "answer", writer);
}

/** One attempt by itself, where it is not part of a chunk. */
export function writeLateAttempt(
  strings: Strings,
  record: Float64Array,
  texts: readonly string[],
): Uint8Array {
  const writer = new ByteWriter();
  writeAttempt(writer, strings, record, texts, () => false);
  writer.signed(0);
  writer.signed(record[ATTEMPT.atMs] ?? 0);
  return writer.view();
}

/** What is alike in most attempts. */
type AttemptTexts = Pick<
  Attempt,
  "url" | "address" | "status" | "error" | "requestHeaders" | "response" | "replay"
>;

export function readAttempts(data: Uint8Array, base: number, strings: Strings): Attempt[] {
  const reader = new ByteReader(data);
  const attempts: Attempt[] = [];
  let offset = base;
  let atMs = 0;
  let texts: AttemptTexts = { url: "" };
  while (!reader.done) {
    const flags = reader.byte();
    const attempt = reader.varint();
    const latencyMs = reader.varint() / 1000;
    if (!(flags & SAME)) texts = readTexts(reader, flags, strings);
    offset += reader.signed();
    atMs += reader.signed();
    attempts.push({ offset: offset as Offset, attempt, atMs, latencyMs, ...texts });
  }
  return attempts;
}

function readTexts(reader: ByteReader, flags: number, strings: Strings): AttemptTexts {
  const url = strings.read(reader);
  const address = flags & HAS_ADDRESS ? strings.read(reader) : undefined;
  const status = flags & HAS_STATUS ? reader.varint() : undefined;
  const error = flags & HAS_ERROR ? { code: strings.read(reader), message: strings.read(reader) } : undefined;
  const headers = flags & HAS_HEADERS ? strings.read(reader) : undefined;
  const response = flags & HAS_RESPONSE ? strings.read(reader) : undefined;
  return {
    url,
    ...(address === undefined ? {} : { address }),
    ...(status === undefined ? {} : { status }),
    ...(error === undefined ? {} : { error }),
    ...(headers === undefined || headers === "" ? {} : { requestHeaders: JSON.parse(headers) }),
    ...(response === undefined ? {} : { response }),
    ...(flags & HAS_REPLAY ? { replay: (flags & IS_REPLAY) !== 0 } : {}),
  };
}

export function readOutcomes(data: Uint8Array, base: number, strings: Strings): OutcomeEntry[] {
  const reader = new ByteReader(data);
  const outcomes: OutcomeEntry[] = [];
  let offset = base;
  let atMs = 0;
  let reason = "";
  while (!reader.done) {
    const head = reader.byte();
    offset += reader.signed();
    atMs += reader.signed();
    if (!(head & SAME_REASON)) reason = strings.read(reader);
    outcomes.push({ offset, state: FINAL_STATES[head & STATE_BITS] ?? "failed", reason, atMs });
  }
  return outcomes;
}

/** A chunk's attempts written anew; strings that only an answer used stay known. Within a transaction. */
export function writeAttempts(attempts: readonly Attempt[], base: number, strings: Strings): Uint8Array {
  const { attempts: records, strings: texts } = encodeSettlement(
    "",
    { cursor: base as Offset, outcomes: [], retries: [], attempts },
    0,
  );
  const writer = new ByteWriter();
  let offset = base;
  let atMs = 0;
  for (let at = 0; at < records.length; at += ATTEMPT.size) {
    const record = records.subarray(at, at + ATTEMPT.size);
    writeAttempt(writer, strings, record, texts, () => false);
    writer.signed((record[ATTEMPT.offset] ?? 0) - offset);
    writer.signed((record[ATTEMPT.atMs] ?? 0) - atMs);
    offset = record[ATTEMPT.offset] ?? 0;
    atMs = record[ATTEMPT.atMs] ?? 0;
  }
  return writer.view();
}

export interface ChunkRow {
  readonly no: number;
  readonly base: number;
  readonly min: number;
  readonly max: number;
  readonly data: Uint8Array;
}

/** The table of chunks. */
export class Chunks {
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #covering: StatementSync;
  readonly #after: StatementSync;
  readonly #replace: StatementSync;
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#replace = database.prepare("UPDATE chunks SET data = ? WHERE no = ?");
    this.#insert = database.prepare(
      "INSERT INTO chunks (consumer, stream, base, min, max, mask, data) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#update = database.prepare("UPDATE chunks SET min = ?, max = ?, mask = ?, data = ? WHERE no = ?");
    this.#covering = database.prepare(
      `SELECT no, base, min, max, data FROM chunks
       WHERE consumer = ? AND stream = ? AND max >= ? AND max < ? AND min <= ? ORDER BY no`,
    );
    this.#after = database.prepare(
      "SELECT no, base, min, max, data FROM chunks WHERE consumer = ? AND stream = 0 AND max > ?",
    );
  }

  /** Within a transaction. */
  write(consumerNo: number, chunk: ChunkWriter): void {
    const { base, min, max, mask, data, stream } = chunk;
    if (chunk.no === undefined) {
      chunk.no = Number(this.#insert.run(consumerNo, stream, base, min, max, mask, data).lastInsertRowid);
    } else {
      this.#update.run(min, max, mask, data, chunk.no);
    }
    chunk.isChanged = false;
  }

  /** The chunks that may hold something of an offset, oldest first. */
  covering(consumerNo: number, stream: Stream, offset: number): ChunkRow[] {
    return this.#covering.all(
      consumerNo,
      stream,
      offset,
      offset + 2 * REACH,
      offset,
    ) as unknown as ChunkRow[];
  }

  /** Puts other data in a chunk's place, of the same offsets. Within a transaction. */
  replace(no: number, data: Uint8Array): void {
    this.#replace.run(data, no);
  }

  /** The chunks that hold outcomes beyond an offset. */
  after(consumerNo: number, offset: number): ChunkRow[] {
    return this.#after.all(consumerNo, offset) as unknown as ChunkRow[];
  }

  /** Chunks that hold outcomes of the states in `mask` at or before an offset, by their last message, downwards. */
  down(consumerNo: number, offset: number, mask: number): IterableIterator<ChunkRow> {
    // A statement of its own each time: several searches go on side by side.
    return this.#database
      .prepare(
        `SELECT no, base, min, max, data FROM chunks
         WHERE consumer = ? AND stream = 0 AND max < ? AND min <= ? AND (mask & ?) != 0 ORDER BY max DESC`,
      )
      .iterate(consumerNo, offset + 2 * REACH, offset, mask) as unknown as IterableIterator<ChunkRow>;
  }
}
