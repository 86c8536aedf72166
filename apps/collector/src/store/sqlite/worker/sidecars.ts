import type { DatabaseSync, StatementSync } from "node:sqlite";
import { IdFilter } from "./id-filter.js";
import { type OpenSegment, POSITION_BITS, POSITION_MASK } from "./open-segment.js";

/**
 * A sealed segment's indexes, written once. Entries of 64 bits, sorted: the upper 47 are a hash, the lower 17 the message's
 * position in the segment. Split by the hash's first six bits into 64 parts, so that a look-up reads one row of about 16 KB.
 *
 *   part 0–63    ids            part 64–127  users
 *   part 128–191 the third word of each id's hash, 2,048 positions a part: with it 79 bits decide that an id is the same
 *   part 192     type and event of each position (16 bits, 0: no message)
 *   part 193     the filter over the ids
 */
const SPLIT_BITS = 6;
const IDS = 0;
const USERS = 64;
const CHECKS = 128;
const CLASSES = 192;
const FILTER = 193;
const PARTS_A_SEGMENT = 256;
const CHECKS_A_PART = 2048;

export class Sidecars {
  readonly #put: StatementSync;
  readonly #get: StatementSync;
  readonly #drop: StatementSync;

  constructor(database: DatabaseSync) {
    this.#put = database.prepare("INSERT OR REPLACE INTO sidecars (key, data) VALUES (?, ?)");
    this.#get = database.prepare("SELECT data FROM sidecars WHERE key = ?");
    this.#drop = database.prepare("DELETE FROM sidecars WHERE key BETWEEN ? AND ?");
  }

  #write(segment: number, part: number, data: Uint8Array): void {
    this.#put.run(segment * PARTS_A_SEGMENT + part, data);
  }

  #read(segment: number, part: number): Uint8Array | undefined {
    const row = this.#get.get(segment * PARTS_A_SEGMENT + part) as { data: Uint8Array } | undefined;
    return row?.data;
  }

  #writeSorted(segment: number, firstPart: number, entries: BigUint64Array): void {
    const words = new Uint32Array(entries.buffer, 0, entries.length * 2);
    let from = 0;
    for (let part = 0; part < 1 << SPLIT_BITS; part++) {
      let to = from;
      while (to < words.length && (words[to + 1] ?? 0) >>> (32 - SPLIT_BITS) === part) to += 2;
      if (to > from) this.#write(segment, firstPart + part, bytesOf(words.subarray(from, to)));
      from = to;
    }
  }

  writeIds(segment: OpenSegment): void {
    this.#writeSorted(segment.no, IDS, segment.sortedIds());
  }

  writeUsers(segment: OpenSegment): void {
    this.#writeSorted(segment.no, USERS, segment.sortedUsers());
  }

  writeColumns(segment: OpenSegment, filter: IdFilter): void {
    const { checks } = segment;
    for (let part = 0; part * CHECKS_A_PART < checks.length; part++) {
      const from = part * CHECKS_A_PART;
      this.#write(segment.no, CHECKS + part, bytesOf(checks.subarray(from, from + CHECKS_A_PART)));
    }
    this.writeClasses(segment.no, segment.classes);
    this.#write(segment.no, FILTER, filter.bytes);
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
    return bytes === undefined ? new Uint16Array(0) : new Uint16Array(bytes.slice().buffer);
  }

  /** Positions whose id has this hash, newest first. */
  positionsOfId(segment: number, hi: number, lo: number, check: number): number[] {
    return this.#positions(segment, IDS, hi, lo).filter((position) => {
      const part = this.#read(segment, CHECKS + Math.floor(position / CHECKS_A_PART));
      return part !== undefined && viewOf(part).getUint32((position % CHECKS_A_PART) * 4, true) === check;
    });
  }

  /** Positions whose user has this hash, newest first. */
  positionsOfUser(segment: number, hi: number, lo: number): number[] {
    return this.#positions(segment, USERS, hi, lo);
  }

  #positions(segment: number, firstPart: number, hi: number, lo: number): number[] {
    const bytes = this.#read(segment, firstPart + (hi >>> (32 - SPLIT_BITS)));
    if (bytes === undefined) return [];
    const view = viewOf(bytes);
    const count = bytes.length / 8;
    const wantedLo = lo >>> POSITION_BITS;
    /** Whether entry `i` comes before all those of the wanted hash. */
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

  /** Leaves only what dedupe needs: ids, their third words, the filter. */
  dropAllButMarks(segment: number): void {
    const at = segment * PARTS_A_SEGMENT;
    this.#drop.run(at + USERS, at + CHECKS - 1);
    this.#drop.run(at + CLASSES, at + CLASSES);
  }

  drop(segment: number): void {
    this.#drop.run(segment * PARTS_A_SEGMENT, (segment + 1) * PARTS_A_SEGMENT - 1);
  }

  /** Takes positions out of the users' index. */
  eraseUsers(segment: number, erased: ReadonlySet<number>): void {
    for (let part = 0; part < 1 << SPLIT_BITS; part++) {
      const bytes = this.#read(segment, USERS + part);
      if (bytes === undefined) continue;
      const view = viewOf(bytes);
      const kept = new Uint8Array(bytes.length);
      let used = 0;
      for (let at = 0; at < bytes.length; at += 8) {
        if (erased.has(view.getUint32(at, true) & POSITION_MASK)) continue;
        kept.set(bytes.subarray(at, at + 8), used);
        used += 8;
      }
      if (used < bytes.length) this.#write(segment, USERS + part, kept.subarray(0, used));
    }
  }
}

function bytesOf(array: Uint32Array | Uint16Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
