import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { WorkerOptions } from "../calls/tuning.js";
import { STREAM } from "../consumers/chunks.js";
import type { Consumer, ConsumerTables } from "../consumers/consumer-tables.js";
import { pageBytesOf } from "../database/database.js";
import { SEGMENT_STATE, type SealedSegment, type Segments } from "../index/segments.js";

/** Rows that are deleted in one step: a few milliseconds' worth, as a row has up to 128 KB. */
const ROWS_AT_ONCE = 16;
const SMALL_ROWS_AT_ONCE = 500;
/** Free pages that are given back to the file system in one step. */
const PAGES_AT_ONCE = 256;

/** About what a step writes: deleted pages are overwritten. */
const STEP_BYTES = 1024 * 1024;

export interface HeldBack {
  readonly consumerId: string;
  readonly bytes: number;
}

/**
 * Drops the oldest segments by age and by size, and gives back what is left over. A segment is first marked, which takes its
 * messages out of everybody's sight, then emptied in small steps between commits; a crash in between only means that the steps go on
 * after the next start. Its dedupe marks stay until their window is over.
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
  /** Marked, but not committed yet. */
  #marked: readonly SealedSegment[] = [];
  /** Dropped segments whose dedupe window is over: their marks are to go. */
  #expired: readonly SealedSegment[] = [];
  /** What the step under way works on. */
  #current = "";
  /** What met damaged data, and is left alone until the next `mark`. */
  readonly #left = new Set<string>();

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

  /** What is stored, free pages left out. */
  #bytesUsed(): number {
    const pages = (this.#pageCount.get() as { page_count: number }).page_count;
    return pages * this.#pageBytes - this.#bytesFree();
  }

  /** Marks what is to go now; it goes once that is `committed`. Within a transaction. */
  mark(nowMs: number): void {
    const { dedupeWindowMs } = this.#options;
    this.#marked = [];
    this.#segments.sealOverdue(nowMs);
    this.#left.clear();
    const dropped = this.#chooseDropped(nowMs);
    for (const segment of dropped) this.#setState.run(SEGMENT_STATE.dropping, segment.no);
    this.#marked = dropped;
    const { sealed } = this.#segments;
    // The newest stays: the next offset is told by it.
    this.#expired = sealed
      .slice(0, -1)
      .filter(({ state, maxMs }) => state === SEGMENT_STATE.marks && maxMs + dedupeWindowMs <= nowMs);
    this.#hasPagesToGive = this.#bytesFree() > 2 * this.#options.tuning.segmentBytes;
  }

  /** After the commit of what was marked: nobody sees those messages any more. */
  committed(): void {
    for (const segment of this.#marked) segment.state = SEGMENT_STATE.dropping;
    this.#marked = [];
  }

  /** The whole segments, from the oldest, that are past an age or too much, and that no consumer needs. */
  #chooseDropped(nowMs: number): SealedSegment[] {
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
    return this.#expired.find(({ no }) => !this.#left.has(marksOf(no)));
  }

  get #dropping(): SealedSegment | undefined {
    return this.#segments.sealed.find(
      ({ state, no }) => state === SEGMENT_STATE.dropping && !this.#left.has(rowsOf(no)),
    );
  }

  /** After a step was undone that met damaged data: the others go on without what it worked on. */
  leaveCurrent(): void {
    this.#left.add(this.#current);
    if (this.#current === PAGES) this.#hasPagesToGive = false;
  }

  /** One step; tells about how many bytes it has written. Within a transaction. */
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

  /** Some of what a consumer has of messages before an offset; false: nothing is left, or what is left cannot be read. */
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
      if (this.#left.has(this.#current) || Number(drop().changes) === 0) continue;
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
