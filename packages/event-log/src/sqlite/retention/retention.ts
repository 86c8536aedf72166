import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { WorkerOptions } from "../calls/tuning.js";
import { STREAM } from "../consumers/chunks.js";
import type { Consumer, ConsumerTables } from "../consumers/consumer-tables.js";
import { pageBytesOf } from "../database/database.js";
import { SEGMENT_STATE, type SealedSegment, type Segments } from "../index/segments.js";

/** Log rows that one step deletes: a few milliseconds, because a row has up to 128 KB. */
const ROWS_AT_ONCE = 16;
const SMALL_ROWS_AT_ONCE = 500;
/** Free pages that one step returns to the file system. */
const PAGES_AT_ONCE = 256;

/** Approximate bytes that a step writes: deleted pages are overwritten. */
const STEP_BYTES = 1024 * 1024;

export interface HeldBack {
  readonly consumerId: string;
  readonly bytes: number;
}

/**
 * Drops the oldest segments by age and size, and returns free pages to the file system. A segment is first marked, which hides its messages
 * from all reads. Then small steps between commits delete its data; after a crash, they continue at the next start. Its dedupe marks stay
 * until the end of the dedupe window.
 */
export class Retention {
  readonly #database: DatabaseSync;
  readonly #options: WorkerOptions;
  readonly #segments: Segments;
  readonly #consumers: ConsumerTables;
  readonly #setState: StatementSync;
  readonly #dropRows: StatementSync;
  readonly #dropChunks: StatementSync;
  readonly #dropLateOutcomes: StatementSync;
  readonly #dropLateAttempts: StatementSync;
  readonly #pageCount: StatementSync;
  readonly #freeCount: StatementSync;
  readonly #pageBytes: number;
  heldBack: HeldBack | undefined;
  #hasPagesToGive = false;
  /** Marked segments whose commit is not done. */
  #marked: readonly SealedSegment[] = [];
  /** Dropped segments whose dedupe window is over. Their marks are to be deleted. */
  #expired: readonly SealedSegment[] = [];
  /** The work of the current step. */
  #current = "";
  /** Work that met damaged data. It is skipped until the next `mark`. */
  readonly #skipped = new Set<string>();

  constructor(database: DatabaseSync, options: WorkerOptions, segments: Segments, consumers: ConsumerTables) {
    this.#database = database;
    this.#options = options;
    this.#segments = segments;
    this.#consumers = consumers;
    const limited = (table: string, key: string, where: string, limit: number): StatementSync =>
      database.prepare(
        `DELETE FROM ${table} WHERE ${where} AND ${key} IN (SELECT ${key} FROM ${table} WHERE ${where} LIMIT ${limit})`,
      );
    this.#setState = database.prepare("UPDATE segments SET state = ? WHERE no = ?");
    this.#dropRows = limited("log_rows", "first", "first >= :first AND first < :end", ROWS_AT_ONCE);
    this.#dropChunks = limited(
      "chunks",
      "no",
      "consumer = :consumer AND stream = :stream AND max < :end",
      SMALL_ROWS_AT_ONCE,
    );
    const isOlder = "consumer = :consumer AND offset < :end";
    this.#dropLateOutcomes = limited("late_outcomes", "offset", isOlder, SMALL_ROWS_AT_ONCE);
    this.#dropLateAttempts = limited("late_attempts", "no", isOlder, SMALL_ROWS_AT_ONCE);
    this.#pageCount = database.prepare("PRAGMA page_count");
    this.#freeCount = database.prepare("PRAGMA freelist_count");
    this.#pageBytes = pageBytesOf(database);
  }

  #bytesFree(): number {
    return (this.#freeCount.get() as { freelist_count: number }).freelist_count * this.#pageBytes;
  }

  /** The size of the database without free pages. */
  #bytesUsed(): number {
    const pages = (this.#pageCount.get() as { page_count: number }).page_count;
    return pages * this.#pageBytes - this.#bytesFree();
  }

  /**
   * Marks the segments to drop, or those with the given numbers. Call `committed` after the commit. Within a transaction.
   */
  mark(nowMs: number, segments?: readonly number[]): void {
    const { dedupeWindowMs } = this.#options;
    this.#marked = [];
    this.#segments.sealOverdue(nowMs);
    this.#skipped.clear();
    const dropped = segments === undefined ? this.chooseDropped(nowMs) : this.#wholeOnes(segments);
    for (const segment of dropped) this.#setState.run(SEGMENT_STATE.dropping, segment.no);
    this.#marked = dropped;
    const { sealed } = this.#segments;
    // The newest segment stays: it defines the next offset.
    this.#expired = sealed
      .slice(0, -1)
      .filter(({ state, maxMs }) => state === SEGMENT_STATE.marks && maxMs + dedupeWindowMs <= nowMs);
    this.#hasPagesToGive = this.#bytesFree() > 2 * this.#options.tuning.segmentBytes;
  }

  /** Call after the commit of `mark`: it hides the messages of the marked segments. */
  committed(): void {
    for (const segment of this.#marked) segment.state = SEGMENT_STATE.dropping;
    this.#marked = [];
  }

  /** The oldest segments that are past the age limit or over the size limit, up to the first one that a consumer needs. */
  chooseDropped(nowMs: number): SealedSegment[] {
    const { maxAgeMs = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY } =
      this.#options.retention;
    const chosen: SealedSegment[] = [];
    let excess = this.#bytesUsed() - maxBytes;
    let held: { consumerId: string; bytes: number } | undefined;
    for (const segment of this.#segments.sealed) {
      if (segment.state === SEGMENT_STATE.dropping) excess -= segment.bytes;
      if (segment.state !== SEGMENT_STATE.whole) continue;
      if (excess <= 0 && segment.maxMs + maxAgeMs > nowMs) break;
      held ??= this.#consumerInNeedOf(segment);
      if (held === undefined) chosen.push(segment);
      else held.bytes += segment.bytes;
      excess -= segment.bytes;
    }
    this.heldBack = held;
    return chosen;
  }

  #wholeOnes(numbers: readonly number[]): SealedSegment[] {
    return this.#segments.sealed.filter(
      ({ no, state }) => state === SEGMENT_STATE.whole && numbers.includes(no),
    );
  }

  #consumerInNeedOf(segment: SealedSegment): { consumerId: string; bytes: number } | undefined {
    for (const consumer of this.#consumers.all) {
      if (this.#consumers.oldestNeeded(consumer) < segment.end) return { consumerId: consumer.id, bytes: 0 };
    }
    return undefined;
  }

  get hasWork(): boolean {
    return this.#hasPagesToGive || this.#dropping !== undefined || this.#nextExpired !== undefined;
  }

  get #nextExpired(): SealedSegment | undefined {
    return this.#expired.find(({ no }) => !this.#skipped.has(marksOf(no)));
  }

  get #dropping(): SealedSegment | undefined {
    return this.#segments.sealed.find(
      ({ state, no }) => state === SEGMENT_STATE.dropping && !this.#skipped.has(rowsOf(no)),
    );
  }

  /** Call after the rollback of a step that met damaged data: the next steps skip its work. */
  leaveCurrent(): void {
    this.#skipped.add(this.#current);
    if (this.#current === PAGES) this.#hasPagesToGive = false;
  }

  /** Runs one step. Returns the approximate bytes written. Within a transaction. */
  workNext(): number {
    const segment = this.#dropping;
    const expired = this.#nextExpired;
    if (segment !== undefined) this.#emptyNext(segment);
    else if (expired !== undefined) this.#dropMarks(expired);
    else {
      this.#current = PAGES;
      this.#database.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`);
      this.#hasPagesToGive = this.#bytesFree() > this.#options.tuning.segmentBytes;
    }
    return STEP_BYTES;
  }

  #dropMarks(segment: SealedSegment): void {
    this.#current = marksOf(segment.no);
    this.#segments.dropMarks(segment);
    this.#expired = this.#expired.filter((other) => other !== segment);
    this.#hasPagesToGive = this.#bytesFree() > 2 * this.#options.tuning.segmentBytes;
  }

  #emptyNext(segment: SealedSegment): void {
    const { no, first, end } = segment;
    this.#current = rowsOf(no);
    if (Number(this.#dropRows.run({ first, end }).changes) > 0) return;
    for (const consumer of this.#consumers.all) if (this.#dropOutcomes(consumer, end)) return;
    this.#current = rowsOf(no);
    this.#segments.sidecars.dropAllButMarks(no);
    this.#setState.run(SEGMENT_STATE.marks, no);
    segment.state = SEGMENT_STATE.marks;
    this.#hasPagesToGive = this.#bytesFree() > 2 * this.#options.tuning.segmentBytes;
  }

  /** Deletes some outcomes and attempts before an offset. Returns false if none is left, or if the rest cannot be read. */
  #dropOutcomes(consumer: Consumer, end: number): boolean {
    const older = { consumer: consumer.no, end };
    const drops: readonly (readonly [string, () => Changes])[] = [
      ["outcomes", () => this.#dropChunks.run({ ...older, stream: STREAM.outcomes })],
      ["attempts", () => this.#dropChunks.run({ ...older, stream: STREAM.attempts })],
      ["late outcomes", () => this.#dropLateOutcomes.run(older)],
      ["late attempts", () => this.#dropLateAttempts.run(older)],
    ];
    for (const [what, drop] of drops) {
      this.#current = `${what} of ${consumer.id}`;
      if (this.#skipped.has(this.#current) || Number(drop().changes) === 0) continue;
      this.#consumers.chunksWereDropped(consumer, end);
      return true;
    }
    return false;
  }
}

type Changes = ReturnType<StatementSync["run"]>;

const PAGES = "free pages";

function marksOf(segmentNo: number): string {
  return `dedupe marks of segment ${segmentNo}`;
}

function rowsOf(segmentNo: number): string {
  return `rows of segment ${segmentNo}`;
}
