import type { DatabaseSync, StatementSync } from "node:sqlite";
import { KEY } from "../calls/append-request.js";
import type { WorkerOptions } from "../calls/tuning.js";
import { isDamage } from "../database/damage.js";
import { MetaNumber } from "../database/meta-number.js";
import { FilterBanks } from "./filter-bank.js";
import { blocksFor, type IdFilter } from "./id-filter.js";
import { OpenSegment } from "./open-segment.js";
import { Sidecars } from "./sidecars.js";

/** The data of a sealed segment: `whole`: everything; `dropping`: deletion is under way; `marks`: only the dedupe marks. */
export const SEGMENT_STATE = { whole: 0, dropping: 1, marks: 2 } as const;

/** The name of the last trusted time in the table `meta`. See `TrustedTime`. */
export const TRUSTED_TIME = "trusted_ms";

/** Number of messages whose tail rows one step deletes: 224 KB. */
const TAIL_OFFSETS_AT_ONCE = 8192;

export interface SealedSegment {
  readonly no: number;
  readonly first: number;
  /** The offset after its last message. */
  readonly end: number;
  messages: number;
  readonly bytes: number;
  /** The earliest and the latest time of receipt. The latest is never before the trusted time of the commit. */
  readonly minMs: number;
  readonly maxMs: number;
  state: number;
  /** Whether its filter is in the banks. It stays there while the segment is within the dedupe window. */
  hasFilter: boolean;
}

interface TailRow {
  readonly first: number;
  readonly segment: number;
  readonly end: number;
  readonly bytes: number;
  readonly min_ms: number;
  readonly max_ms: number;
  readonly keys: Uint8Array;
}

/**
 * The log's index, divided into segments by number of messages, size and age. The newest segment is open: it is in memory, and its keys are
 * in the table `tail`. A full segment is sealed: its sidecars are written in a few steps between commits. It stays in memory until they are
 * written; then its tail rows are deleted. No index spans the whole log, so the cost of a commit does not grow with the log.
 */
export class Segments {
  readonly sidecars: Sidecars;
  /** Oldest first. */
  readonly sealed: SealedSegment[] = [];
  /** Full segments whose sidecars are not completely written, oldest first. */
  readonly sealing: OpenSegment[] = [];
  open: OpenSegment;

  readonly #options: WorkerOptions;
  /** Called with each error about damaged data that was skipped. */
  readonly #damaged: (error: unknown) => void;
  readonly #putTail: StatementSync;
  readonly #database: DatabaseSync;
  readonly #dropTail: StatementSync;
  readonly #putSegment: StatementSync;
  readonly #deleteSegment: StatementSync;
  readonly #filters: FilterBanks<SealedSegment>;
  /** The remaining steps of sealing `sealing[0]`, if it has begun. */
  #sealing: Iterator<number, number> | undefined;
  /** No tail row is older than this offset. Tail rows before the end of the last sealed segment are still to be deleted. */
  #tailStart = 0;

  constructor(database: DatabaseSync, options: WorkerOptions, damaged: (error: unknown) => void = () => {}) {
    this.#damaged = damaged;
    this.#options = options;
    this.#database = database;
    this.sidecars = new Sidecars(database);
    this.#filters = new FilterBanks(blocksFor(options.tuning.segmentMessages));
    this.#putTail = database.prepare(
      'INSERT INTO tail (first, segment, "end", bytes, min_ms, max_ms, keys) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    this.#dropTail = database.prepare("DELETE FROM tail WHERE first < ?");
    this.#putSegment = database.prepare(
      'INSERT INTO segments (no, first, "end", messages, bytes, min_ms, max_ms, state) VALUES (?, ?, ?, ?, ?, ?, ?, 0)',
    );
    this.#deleteSegment = database.prepare("DELETE FROM segments WHERE no = ?");
    for (const row of database
      .prepare(
        'SELECT no, first, "end" AS "end", messages, bytes, min_ms, max_ms, state FROM segments ORDER BY no',
      )
      .all() as unknown as {
      no: number;
      first: number;
      end: number;
      messages: number;
      bytes: number;
      min_ms: number;
      max_ms: number;
      state: number;
    }[]) {
      const { no, first, end, messages, bytes, min_ms: minMs, max_ms: maxMs, state } = row;
      this.sealed.push({ no, first, end, messages, bytes, minMs, maxMs, state, hasFilter: false });
    }
    const tail = this.#readTail(database);
    const last = this.sealed.at(-1);
    this.open =
      tail.pop() ?? new OpenSegment((last?.no ?? 0) + 1, last?.end ?? 0, options.tuning.segmentMessages);
    this.sealing.push(...tail);
    this.#loadFilters();
  }

  /** Loads the filters of the segments in the dedupe window of new messages, which are received after all stored ones. */
  #loadFilters(): void {
    // The newest message may have come while the clock was ahead. The trusted time keeps the filters that are needed when it is right.
    const trustedMs = new MetaNumber(this.#database, TRUSTED_TIME).value ?? Number.POSITIVE_INFINITY;
    const newestMs = [...this.sealed, ...this.sealing, this.open].reduce(
      (newest, { maxMs }) => Math.max(newest, maxMs),
      0,
    );
    for (const segment of this.sealed) {
      const filter = this.#isInWindow(segment, Math.min(newestMs, trustedMs))
        ? this.#readFilter(segment.no)
        : undefined;
      if (filter === undefined) continue;
      for (const _ of this.#filters.addInSteps(segment, filter));
      segment.hasFilter = true;
    }
  }

  /** Without its filter, the ids of a segment count as new: the collector starts, and the damage is told. */
  #readFilter(segment: number): IdFilter | undefined {
    try {
      return this.sidecars.filter(segment);
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#damaged(error);
      return undefined;
    }
  }

  /** Rebuilds the segments that are not sealed from the table `tail`. */
  #readTail(database: DatabaseSync): OpenSegment[] {
    const segments: OpenSegment[] = [];
    const lastSealed = this.sealed.at(-1)?.no ?? 0;
    this.#tailStart = this.#sealedEnd;
    // The folder may have been written with larger segments.
    const lengths = new Map(
      database
        .prepare('SELECT segment, MAX("end") - MIN(first) AS length FROM tail GROUP BY segment')
        .all()
        .map(({ segment, length }) => [Number(segment), Number(length)]),
    );
    for (const raw of database
      .prepare('SELECT first, segment, "end" AS "end", bytes, min_ms, max_ms, keys FROM tail ORDER BY first')
      .iterate()) {
      const row = raw as unknown as TailRow;
      this.#tailStart = Math.min(this.#tailStart, row.first);
      if (row.segment <= lastSealed) continue;
      let segment = segments.at(-1);
      if (segment?.no !== row.segment) {
        const capacity = Math.max(this.#options.tuning.segmentMessages, lengths.get(row.segment) ?? 0);
        segment = new OpenSegment(row.segment, row.first, capacity);
        segments.push(segment);
      }
      const keys = new Uint32Array(row.keys.slice().buffer);
      for (let at = 0; at < keys.length; at += KEY.size) {
        const position = keys[at + KEY.index] ?? 0;
        segment.add(position, keys, at);
        if (keys[at + KEY.class] === 0) segment.messages -= 1;
      }
      this.#count(segment, row.end, row.bytes, row.min_ms, row.max_ms);
    }
    return segments;
  }

  #count(segment: OpenSegment, end: number, bytes: number, minMs: number, maxMs: number): void {
    segment.end = end;
    segment.bytes += bytes;
    segment.minMs = Math.min(segment.minMs, minMs);
    segment.maxMs = Math.max(segment.maxMs, maxMs);
  }

  /** The offset of the next message. */
  get end(): number {
    return this.open.end;
  }

  /** The offset of the oldest stored message, or `end`. */
  get start(): number {
    return (
      this.sealed.find((segment) => segment.state === SEGMENT_STATE.whole)?.first ??
      this.sealing[0]?.first ??
      this.open.first
    );
  }

  get messages(): number {
    let messages = this.open.messages;
    for (const segment of this.sealing) messages += segment.messages;
    for (const segment of this.sealed)
      if (segment.state === SEGMENT_STATE.whole) messages += segment.messages;
    return messages;
  }

  /**
   * Whether a batch needs a new segment. `end` is the end of the open segment with its uncommitted messages, `bytes` the size of the
   * uncommitted messages.
   */
  needsNew(end: number, bytes: number, itemCount: number, receivedAtMs: number): boolean {
    const { open } = this;
    if (end === open.first) return itemCount > open.capacity;
    const { tuning } = this.#options;
    return (
      end - open.first + itemCount > open.capacity ||
      open.bytes + bytes >= tuning.segmentBytes ||
      receivedAtMs - open.minMs > this.longestMs
    );
  }

  /** How long a segment stays open: an eighth of the dedupe window or of the age limit, whichever is shorter. */
  get longestMs(): number {
    const { dedupeWindowMs, retention } = this.#options;
    return Math.min(dedupeWindowMs, retention.maxAgeMs ?? Number.POSITIVE_INFINITY) / 8;
  }

  /** Ends the open segment if its oldest message is older than `longestMs`. */
  sealOverdue(nowMs: number): void {
    const { end, first, minMs } = this.open;
    if (end > first && nowMs - minMs > this.longestMs) this.beginNew(0);
  }

  /** Begins a new segment with a capacity of `itemCount` at least. */
  beginNew(itemCount: number): void {
    const capacity = Math.max(this.#options.tuning.segmentMessages, itemCount);
    const { no, first, end } = this.open;
    if (end > first) this.sealing.push(this.open);
    this.open = new OpenSegment(end > first ? no + 1 : no, end, capacity);
  }

  /** Stores the keys of messages that were added to the open segment. Their `KEY.index` is the position in it. */
  commitKeys(
    first: number,
    end: number,
    bytes: number,
    minMs: number,
    maxMs: number,
    keys: Uint32Array,
  ): void {
    this.#count(this.open, end, bytes, minMs, maxMs);
    const raw = new Uint8Array(keys.buffer, keys.byteOffset, keys.byteLength);
    this.#putTail.run(first, this.open.no, end, bytes, minMs, maxMs, raw);
  }

  /** Whether `workNext` has something to do. */
  get hasWork(): boolean {
    return this.sealing.length > 0 || this.#tailStart < this.#sealedEnd;
  }

  get #sealedEnd(): number {
    return this.sealed.at(-1)?.end ?? 0;
  }

  /**
   * Runs the next step of sealing, or of deleting the tail rows of sealed segments: one or two milliseconds. Returns the number of bytes
   * written. Within a transaction.
   */
  workNext(): number {
    if (this.#tailStart < this.#sealedEnd) return this.#dropFromTail();
    const segment = this.sealing[0];
    if (segment === undefined) return 0;
    this.#sealing ??= this.#seal(segment);
    const { done, value } = this.#sealing.next();
    if (done) this.#sealing = undefined;
    return value;
  }

  /** Call after a rollback: the segment is sealed again from its first step. */
  sealAnew(): void {
    this.#sealing = undefined;
  }

  *#seal(segment: OpenSegment): Generator<number, number> {
    const filter = yield* this.sidecars.write(segment);
    const { no, first, end, messages, bytes, minMs, maxMs } = segment;
    const state = SEGMENT_STATE.whole;
    const sealed = { no, first, end, messages, bytes, minMs, maxMs, state, hasFilter: true };
    for (const _ of this.#filters.addInSteps(sealed, filter)) yield 0;
    this.#putSegment.run(no, first, end, messages, bytes, minMs, maxMs);
    this.sealing.shift();
    this.sealed.push(sealed);
    return 0;
  }

  /** The tail has only hashes, and `compact` returns the free pages. So the rows are not overwritten, which would write them twice more. */
  #dropFromTail(): number {
    const end = Math.min(this.#tailStart + TAIL_OFFSETS_AT_ONCE, this.#sealedEnd);
    this.#database.exec("PRAGMA secure_delete = OFF");
    try {
      this.#dropTail.run(end);
    } finally {
      this.#database.exec("PRAGMA secure_delete = ON");
    }
    this.#tailStart = end;
    // Freed pages are not written.
    return 0;
  }

  /** Deletes the dedupe marks of a dropped segment. From then on its ids count as new. Within a transaction. */
  dropMarks(segment: SealedSegment): void {
    this.sidecars.drop(segment.no);
    this.#deleteSegment.run(segment.no);
    if (segment.hasFilter) this.#filters.remove(segment);
    segment.hasFilter = false;
    this.sealed.splice(this.sealed.indexOf(segment), 1);
  }

  /** Sets `known[i]` to 1 if a sealed segment has the `i`-th id of `keys`. */
  findSealed(keys: Uint32Array, nowMs: number, known: Uint8Array): void {
    for (const segment of this.sealed) {
      if (!segment.hasFilter || this.#isInWindow(segment, nowMs)) continue;
      this.#filters.remove(segment);
      segment.hasFilter = false;
    }
    this.#filters.lookUp(keys, (index, { no }) => {
      if (known[index] === 1) return;
      const at = index * KEY.size;
      const hi = keys[at + KEY.idHi] ?? 0;
      const lo = keys[at + KEY.idLo] ?? 0;
      if (this.#isIn(no, hi, lo, keys[at + KEY.idCheck] ?? 0)) known[index] = 1;
    });
  }

  /** If the index cannot be read, the id counts as new: a duplicate is better than a lost message. */
  #isIn(segment: number, hi: number, lo: number, check: number): boolean {
    try {
      return this.sidecars.positionsOfId(segment, hi, lo, check).length > 0;
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#damaged(error);
      return false;
    }
  }

  /** Whether the filter rules out that the segment has an id. */
  denies(segment: SealedSegment, hi: number, lo: number): boolean {
    if (!segment.hasFilter) return false;
    const key = new Uint32Array(KEY.size);
    key[KEY.idHi] = hi;
    key[KEY.idLo] = lo;
    let isDenied = true;
    this.#filters.lookUp(key, (_, candidate) => {
      if (candidate === segment) isDenied = false;
    });
    return isDenied;
  }

  /** Whether a segment in memory has the id of the key at `at`. Segments that are past the dedupe window at `nowMs` do not count. */
  holds(keys: Uint32Array, at: number, nowMs: number): boolean {
    const hi = keys[at + KEY.idHi] ?? 0;
    const lo = keys[at + KEY.idLo] ?? 0;
    const check = keys[at + KEY.idCheck] ?? 0;
    if (this.open.has(hi, lo, check)) return true;
    return this.sealing.some((segment) => this.#isInWindow(segment, nowMs) && segment.has(hi, lo, check));
  }

  #isInWindow({ maxMs }: { readonly maxMs: number }, nowMs: number): boolean {
    return maxMs + this.#options.dedupeWindowMs > nowMs;
  }

  /** Splits a range of offsets at the segment boundaries. */
  split(first: number, end: number): { readonly first: number; readonly end: number }[] {
    const starts = [...this.sealed, ...this.sealing, this.open].map((segment) => segment.first);
    const cuts = [first, ...starts.filter((start) => start > first && start < end)];
    return cuts.map((cut, i) => ({ first: cut, end: cuts[i + 1] ?? end }));
  }

  /** The approximate time at which the message at an offset was received. */
  timeOf(offset: number): number {
    const all = [...this.sealed, ...this.sealing, this.open];
    return all.find(({ end }) => offset < end)?.minMs ?? 0;
  }

  /**
   * Removes the messages from `first` up to `end` (exclusive) from all indexes except dedupe. Returns how many there were. For
   * `repair-store.ts`: the segments in memory are not updated. Within a transaction.
   */
  forget(first: number, end: number): number {
    let forgotten = 0;
    for (const segment of this.sealed) {
      if (segment.state !== SEGMENT_STATE.whole || segment.end <= first || segment.first >= end) continue;
      const classes = this.sidecars.classes(segment.no);
      const stretch = classes.subarray(Math.max(0, first - segment.first), end - segment.first);
      const messages = stretch.reduce((count, found) => count + Number(found !== 0), 0);
      stretch.fill(0);
      this.sidecars.writeClasses(segment.no, classes);
      segment.messages -= messages;
      this.#database
        .prepare("UPDATE segments SET messages = ? WHERE no = ?")
        .run(segment.messages, segment.no);
      forgotten += messages;
    }
    return forgotten + this.#forgetInTail(first, end);
  }

  #forgetInTail(first: number, end: number): number {
    let forgotten = 0;
    const change = this.#database.prepare("UPDATE tail SET keys = ? WHERE first = ?");
    for (const segment of [...this.sealing, this.open]) {
      const rows = this.#database
        .prepare('SELECT first, keys FROM tail WHERE segment = ? AND first < ? AND "end" > ?')
        .all(segment.no, end, first) as unknown as Pick<TailRow, "first" | "keys">[];
      for (const row of rows) {
        const keys = new Uint32Array(row.keys.slice().buffer);
        for (let at = 0; at < keys.length; at += KEY.size) {
          const offset = segment.first + (keys[at + KEY.index] ?? 0);
          if (offset < first || offset >= end || keys[at + KEY.class] === 0) continue;
          keys[at + KEY.class] = 0;
          forgotten += 1;
        }
        change.run(new Uint8Array(keys.buffer), row.first);
      }
    }
    return forgotten;
  }

  /** The number of messages at or after an offset. */
  countFrom(offset: number): number {
    let count = 0;
    for (const segment of [...this.sealing, this.open]) {
      count +=
        offset <= segment.first ? segment.messages : countClasses(segment.classes, offset - segment.first);
    }
    for (let i = this.sealed.length - 1; i >= 0; i--) {
      const segment = this.sealed[i];
      if (segment === undefined || segment.end <= offset) break;
      if (segment.state !== SEGMENT_STATE.whole) continue;
      if (offset <= segment.first) count += segment.messages;
      else if (segment.messages === segment.end - segment.first) count += segment.end - offset;
      else count += countClasses(this.sidecars.classes(segment.no), offset - segment.first);
    }
    return count;
  }
}

function countClasses(classes: Uint16Array, from: number): number {
  let count = 0;
  for (let position = Math.max(0, from); position < classes.length; position++) {
    if (classes[position] !== 0) count += 1;
  }
  return count;
}
