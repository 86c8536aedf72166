import type { DatabaseSync, StatementSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import type { Attempt } from "../../ports/consumers.js";
import { DamagedData, reading } from "../database/damage.js";
import { readAttempts } from "./attempt-codec.js";
import type { Strings } from "./outcome-codec.js";
import { type OutcomeEntry, readOutcomes } from "./outcome-codec.js";

/**
 * A chunk has consecutive outcomes or attempts of one consumer, each as its difference from the previous one: three bytes for the outcome
 * of a delivered message, about seven for its attempt. The newest chunk of each stream is in memory. Each commit that adds to it writes it
 * again, until it is full. So if deliveries succeed, there is one row for about a thousand messages.
 */
export const STREAM = { outcomes: 0, attempts: 1 } as const;
export type Stream = (typeof STREAM)[keyof typeof STREAM];

/** Two chunks and their row headers fill a page. */
export const FULL_BYTES = 3600;
/** Maximum distance of a chunk's messages from its base. It bounds the chunks that a lookup has to read. */
export const REACH = 65_536;

/** A chunk to write. Writing it sets `no` and resets `isChanged`. */
export interface ChunkContent {
  no: number | undefined;
  isChanged: boolean;
  readonly stream: Stream;
  readonly base: number;
  readonly min: number;
  readonly max: number;
  readonly mask: number;
  readonly data: Uint8Array;
}

export interface ChunkRow {
  readonly no: number;
  readonly stream: Stream;
  readonly base: number;
  readonly min: number;
  readonly max: number;
  readonly data: Uint8Array;
  /** The CRC-32 of the data. */
  readonly checksum: number;
}

const COLUMNS = "no, stream, base, min, max, data, checksum";

/** The table of chunks. Methods that decode a row throw `DamagedData` if its data is not what was written. */
export class Chunks {
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #covering: StatementSync;
  readonly #after: StatementSync;
  readonly #at: StatementSync;
  readonly #replace: StatementSync;
  readonly #database: DatabaseSync;
  readonly #strings: Strings;

  constructor(database: DatabaseSync, strings: Strings) {
    this.#database = database;
    this.#strings = strings;
    this.#replace = database.prepare("UPDATE chunks SET data = ?, checksum = ? WHERE no = ?");
    this.#insert = database.prepare(
      "INSERT INTO chunks (consumer, stream, base, min, max, mask, data, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    );
    this.#update = database.prepare(
      "UPDATE chunks SET min = ?, max = ?, mask = ?, data = ?, checksum = ? WHERE no = ?",
    );
    this.#covering = database.prepare(
      `SELECT ${COLUMNS} FROM chunks
       WHERE consumer = ? AND stream = ? AND max >= ? AND max < ? AND min <= ? ORDER BY no`,
    );
    // The index covers these queries.
    this.#after = database.prepare("SELECT no FROM chunks WHERE consumer = ? AND stream = 0 AND max > ?");
    this.#at = database.prepare(`SELECT ${COLUMNS} FROM chunks WHERE no = ?`);
  }

  /** Within a transaction. */
  write(consumerNo: number, chunk: ChunkContent): void {
    const { base, min, max, mask, data, stream } = chunk;
    const checksum = crc32(data);
    if (chunk.no === undefined) {
      chunk.no = Number(
        this.#insert.run(consumerNo, stream, base, min, max, mask, data, checksum).lastInsertRowid,
      );
    } else {
      this.#update.run(min, max, mask, data, checksum, chunk.no);
    }
    chunk.isChanged = false;
  }

  /** The chunks that may have entries for an offset, oldest first. */
  covering(consumerNo: number, stream: Stream, offset: number): ChunkRow[] {
    const values = [consumerNo, stream, offset, offset + 2 * REACH, offset];
    return reading(
      () => `${streamName(stream)} of messages near ${offset}`,
      () => this.#covering.all(...values) as unknown as ChunkRow[],
    );
  }

  /** Replaces a chunk's data by data with the same offsets. Within a transaction. */
  replace(no: number, data: Uint8Array): void {
    this.#replace.run(data, crc32(data), no);
  }

  /** Numbers of the chunks that have outcomes after an offset. */
  after(consumerNo: number, offset: number): number[] {
    return reading(
      () => `outcomes of the messages after ${offset}`,
      () => this.#after.all(consumerNo, offset).map(({ no }) => no as number),
    );
  }

  at(no: number): ChunkRow | undefined {
    return reading(
      () => `outcomes or attempts of chunk ${no}`,
      () => this.#at.get(no) as unknown as ChunkRow | undefined,
    );
  }

  /** Chunks that have outcomes with states in `mask` at or before an offset, descending by their last message. */
  down(consumerNo: number, offset: number, mask: number): IterableIterator<ChunkRow> {
    // Each search prepares its own statement, because several searches iterate at the same time.
    return this.#database
      .prepare(
        `SELECT ${COLUMNS} FROM chunks
         WHERE consumer = ? AND stream = 0 AND max < ? AND min <= ? AND (mask & ?) != 0 ORDER BY max DESC`,
      )
      .iterate(consumerNo, offset + 2 * REACH, offset, mask) as unknown as IterableIterator<ChunkRow>;
  }

  outcomesIn(row: ChunkRow): OutcomeEntry[] {
    return read(row, () => readOutcomes(row.data, row.base, this.#strings));
  }

  attemptsIn(row: ChunkRow): Attempt[] {
    return read(row, () => readAttempts(row.data, row.base, this.#strings));
  }
}

function streamName(stream: Stream): string {
  return stream === STREAM.outcomes ? "outcomes" : "attempts";
}

function read<T>(row: ChunkRow, decode: () => T): T {
  const { data, checksum, stream, min, max } = row;
  const what = `${streamName(stream)} of the messages ${min} to ${max}`;
  if (!(data instanceof Uint8Array)) throw new DamagedData(what);
  if (crc32(data) !== checksum) throw new DamagedData(what);
  try {
    return decode();
  } catch (error) {
    throw new DamagedData(what, error);
  }
}
