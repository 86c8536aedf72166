import type { DatabaseSync, StatementSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import { DamagedData, reading } from "../database/damage.js";
import { IdFilter } from "./id-filter.js";
import { type HashColumn, type OpenSegment, POSITION_BITS, POSITION_MASK } from "./open-segment.js";

/**
 * The indexes of a sealed segment, which are written once. The entries of ids and users have 64 bits and are sorted: the upper 47 bits are
 * a hash, the lower 17 the message's position in the segment. They are split by the hash's first six bits into 64 parts, so a lookup reads
 * one row of about 16 KB.
 *
 *   part 0–63    ids
 *   part 64–127  users
 *   part 128–191 the third word of each id's hash, 2,048 positions a part: ids are compared by 79 bits
 *   part 192     type and event of each position (16 bits, 0: no message)
 *   part 193     the filter over the ids
 *
 * Each part ends with its CRC-32 (little-endian), which is verified whenever the part is read: without it, zeros in a page would be ids
 * that were never seen.
 */
const SPLIT_BITS = 6;
const IDS = 0;
const USERS = 64;
const CHECKS = 128;
const CLASSES = 192;
const FILTER = 193;
const PARTS_A_SEGMENT = 256;
const CHECKSUM_BYTES = 4;
const CHECKS_A_PART = 2048;
/** Number of parts that one step sorts and writes. */
const PARTS_AT_ONCE = 8;
const POSITIONS_AT_ONCE = 16_384;

export class Sidecars {
  readonly #put: StatementSync;
  readonly #get: StatementSync;
  readonly #drop: StatementSync;

  constructor(database: DatabaseSync) {
    this.#put = database.prepare("INSERT OR REPLACE INTO sidecars (key, data) VALUES (?, ?)");
    this.#get = database.prepare("SELECT data FROM sidecars WHERE key = ?");
    this.#drop = database.prepare("DELETE FROM sidecars WHERE key BETWEEN ? AND ?");
  }

  /** Returns the number of bytes written. */
  #write(segment: number, part: number, data: Uint8Array): number {
    const sealed = new Uint8Array(data.length + CHECKSUM_BYTES);
    sealed.set(data);
    viewOf(sealed).setUint32(data.length, crc32(data), true);
    this.#put.run(segment * PARTS_A_SEGMENT + part, sealed);
    return sealed.length;
  }

  #read(segment: number, part: number): Uint8Array | undefined {
    const row = reading(
      () => `indexes of the log's segment ${segment}`,
      () => this.#get.get(segment * PARTS_A_SEGMENT + part) as { data: Uint8Array } | undefined,
    );
    if (row === undefined) return undefined;
    const data = row.data instanceof Uint8Array ? row.data.subarray(0, -CHECKSUM_BYTES) : undefined;
    if (data === undefined || crc32(data) !== checksumIn(row.data))
      throw new DamagedData(`indexes of the log's segment ${segment}`);
    return data;
  }

  /** Writes all parts of a segment in steps of about a millisecond. Each step yields the number of bytes written. */
  *write(segment: OpenSegment): Generator<number, IdFilter> {
    yield* this.#writeSorted(segment.no, IDS, segment.ids);
    yield* this.#writeSorted(segment.no, USERS, segment.users);
    yield* this.#writeChecks(segment);
    yield this.#write(segment.no, CLASSES, bytesOf(segment.classes));
    const filter = IdFilter.forKeys(segment.messages);
    yield* inSteps(segment.ids, (position) => {
      filter.add(segment.ids.hi[position] ?? 0, segment.ids.lo[position] ?? 0);
    });
    yield this.#write(segment.no, FILTER, filter.bytes);
    return filter;
  }

  *#writeSorted(segment: number, firstPart: number, column: HashColumn): Generator<number, void> {
    const ends = new Uint32Array(1 << SPLIT_BITS);
    yield* inSteps(column, (position) => {
      const part = (column.hi[position] ?? 0) >>> (32 - SPLIT_BITS);
      ends[part] = (ends[part] ?? 0) + 1;
    });
    for (let part = 1; part < ends.length; part++) ends[part] = (ends[part] ?? 0) + (ends[part - 1] ?? 0);
    const next = Uint32Array.from(ends, (_, part) => ends[part - 1] ?? 0);
    // Each entry is two words, the low one first: a little-endian 64-bit number.
    const words = new Uint32Array((ends.at(-1) ?? 0) * 2);
    yield* inSteps(column, (position) => {
      const hi = column.hi[position] ?? 0;
      const entry = next[hi >>> (32 - SPLIT_BITS)] ?? 0;
      next[hi >>> (32 - SPLIT_BITS)] = entry + 1;
      words[entry * 2] = ((column.lo[position] ?? 0) & ~POSITION_MASK) | position;
      words[entry * 2 + 1] = hi;
    });
    const entries = new BigUint64Array(words.buffer);
    let written = 0;
    for (const [part, end] of ends.entries()) {
      const ofPart = entries.subarray(ends[part - 1] ?? 0, end);
      if (ofPart.length > 0) written += this.#write(segment, firstPart + part, bytesOf(ofPart.sort()));
      if (part % PARTS_AT_ONCE !== PARTS_AT_ONCE - 1) continue;
      yield written;
      written = 0;
    }
  }

  *#writeChecks({ no, checks }: OpenSegment): Generator<number, void> {
    let written = 0;
    for (let part = 0; part * CHECKS_A_PART < checks.length; part++) {
      const from = part * CHECKS_A_PART;
      written += this.#write(no, CHECKS + part, bytesOf(checks.subarray(from, from + CHECKS_A_PART)));
    }
    yield written;
  }

  writeClasses(segment: number, classes: Uint16Array): void {
    this.#write(segment, CLASSES, bytesOf(classes));
  }

  filter(segment: number): IdFilter | undefined {
    const bytes = this.#read(segment, FILTER);
    return bytes && IdFilter.from(bytes);
  }

  classes(segment: number): Uint16Array {
    const bytes = this.#read(segment, CLASSES);
    if (bytes === undefined) return new Uint16Array(0);
    if (bytes.length % 2 !== 0) throw new DamagedData(`indexes of the log's segment ${segment}`);
    return new Uint16Array(bytes.slice().buffer);
  }

  /** Positions of the messages whose id has this hash, descending. */
  positionsOfId(segment: number, hi: number, lo: number, check: number): number[] {
    return this.#positions(segment, IDS, hi, lo).filter((position) => {
      const part = this.#read(segment, CHECKS + Math.floor(position / CHECKS_A_PART));
      const at = (position % CHECKS_A_PART) * 4;
      if (part === undefined) return false;
      if (at + 4 > part.length) throw new DamagedData(`indexes of the log's segment ${segment}`);
      return viewOf(part).getUint32(at, true) === check;
    });
  }

  /** Positions of the messages whose user has this hash, descending. */
  positionsOfUser(segment: number, hi: number, lo: number): number[] {
    return this.#positions(segment, USERS, hi, lo);
  }

  #positions(segment: number, firstPart: number, hi: number, lo: number): number[] {
    const bytes = this.#read(segment, firstPart + (hi >>> (32 - SPLIT_BITS)));
    if (bytes === undefined) return [];
    const view = viewOf(bytes);
    const count = Math.floor(bytes.length / 8);
    const wantedLo = lo >>> POSITION_BITS;
    /** Whether entry `i` is before all entries of the wanted hash. */
    const isBefore = (i: number): boolean => {
      const entryHi = view.getUint32(i * 8 + 4, true);
      return entryHi !== hi ? entryHi < hi : view.getUint32(i * 8, true) >>> POSITION_BITS < wantedLo;
    };
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(middle)) low = middle + 1;
      else high = middle;
    }
    const positions: number[] = [];
    for (let i = low; i < count && view.getUint32(i * 8 + 4, true) === hi; i++) {
      const entryLo = view.getUint32(i * 8, true);
      if (entryLo >>> POSITION_BITS !== wantedLo) break;
      positions.push(entryLo & POSITION_MASK);
    }
    return positions.reverse();
  }

  /** Whether the stored indexes of a segment miss an entry that this segment has. For `repair-store.ts`. */
  lacks(segment: OpenSegment): boolean {
    const { no, ids, checks, classes, messages } = segment;
    try {
      if (this.#lacksEntries(no, IDS, ids) || this.#lacksEntries(no, USERS, segment.users)) return true;
      const filter = this.filter(no);
      if (messages > 0 && filter === undefined) return true;
      const storedClasses = this.classes(no);
      for (let position = 0; position < ids.length; position++) {
        if (classes[position] === 0) continue;
        if (storedClasses[position] !== classes[position]) return true;
        if (filter?.has(ids.hi[position] ?? 0, ids.lo[position] ?? 0) === false) return true;
      }
      return this.#lacksChecks(no, ids, checks);
    } catch {
      // A part cannot be read, or has a length that is never written.
      return true;
    }
  }

  #lacksChecks(segment: number, ids: HashColumn, checks: Uint32Array): boolean {
    for (let part = 0; part * CHECKS_A_PART < checks.length; part++) {
      const stored = this.#read(segment, CHECKS + part);
      for (let i = 0; i < CHECKS_A_PART; i++) {
        const position = part * CHECKS_A_PART + i;
        if (position >= ids.length || !ids.isSet(position)) continue;
        if (stored === undefined || viewOf(stored).getUint32(i * 4, true) !== checks[position]) return true;
      }
    }
    return false;
  }

  #lacksEntries(segment: number, firstPart: number, column: HashColumn): boolean {
    const stored = this.#readEntries(segment, firstPart, column.length);
    if (stored === undefined) return true;
    const { hi, lo } = stored;
    for (let position = 0; position < column.length; position++) {
      if (!column.isSet(position)) continue;
      if (hi[position] !== column.hi[position]) return true;
      if (((lo[position] ?? 0) ^ (column.lo[position] ?? 0)) >>> POSITION_BITS !== 0) return true;
    }
    return false;
  }

  /** The stored hashes by position. Undefined if an entry is out of order, in the wrong part or beyond `length`. */
  #readEntries(
    segment: number,
    firstPart: number,
    length: number,
  ): { readonly hi: Uint32Array; readonly lo: Uint32Array } | undefined {
    const hi = new Uint32Array(length);
    const lo = new Uint32Array(length);
    for (let part = 0; part < 1 << SPLIT_BITS; part++) {
      let last = 0n;
      for (const entry of this.#entries(segment, firstPart + part)) {
        const entryHi = Number(entry >> 32n);
        const position = Number(entry & BigInt(POSITION_MASK));
        if (entry < last || entryHi >>> (32 - SPLIT_BITS) !== part || position >= length) return undefined;
        hi[position] = entryHi;
        lo[position] = Number(entry & 0xffffffffn) & ~POSITION_MASK;
        last = entry;
      }
    }
    return { hi, lo };
  }

  #entries(segment: number, part: number): BigUint64Array {
    const bytes = this.#read(segment, part);
    return bytes === undefined ? new BigUint64Array(0) : new BigUint64Array(bytes.slice().buffer);
  }

  /** The number of ids in the dedupe marks of a dropped segment; 0 if its filter is lost. */
  marks(segment: number): number {
    if (this.#read(segment, FILTER) === undefined) return 0;
    let count = 0;
    for (let part = IDS; part < IDS + (1 << SPLIT_BITS); part++) {
      count += Math.floor((this.#read(segment, part)?.length ?? 0) / 8);
    }
    return count;
  }

  /** Deletes everything but the dedupe marks: the ids, their third words and the filter. */
  dropAllButMarks(segment: number): void {
    const at = segment * PARTS_A_SEGMENT;
    this.#drop.run(at + USERS, at + CHECKS - 1);
    this.#drop.run(at + CLASSES, at + CLASSES);
  }

  /** Deletes the parts that cannot be read. For `repair-store.ts`: nothing has what they held. */
  dropDamaged(segment: number): void {
    const at = segment * PARTS_A_SEGMENT;
    for (let part = 0; part < PARTS_A_SEGMENT; part++) {
      try {
        this.#read(segment, part);
      } catch (error) {
        if (!(error instanceof DamagedData)) throw error;
        this.#drop.run(at + part, at + part);
      }
    }
  }

  drop(segment: number): void {
    this.#drop.run(segment * PARTS_A_SEGMENT, (segment + 1) * PARTS_A_SEGMENT - 1);
  }
}

/** Calls `run` for each position that is set, `POSITIONS_AT_ONCE` positions in a step. */
function* inSteps(column: HashColumn, run: (position: number) => void): Generator<number, void> {
  for (let from = 0; from < column.length; from += POSITIONS_AT_ONCE) {
    const to = Math.min(from + POSITIONS_AT_ONCE, column.length);
    for (let position = from; position < to; position++) if (column.isSet(position)) run(position);
    yield 0;
  }
}

function bytesOf(array: BigUint64Array | Uint32Array | Uint16Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** Undefined if the part is too short to have one. */
function checksumIn(part: Uint8Array): number | undefined {
  const at = part.length - CHECKSUM_BYTES;
  return at < 0 ? undefined : viewOf(part).getUint32(at, true);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
