import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Offset } from "../../message/batch.js";
import { lastMessageIndex } from "../../message/batch.js";
import { overwriteMessages } from "../../message/overwrite-messages.js";
import type { LogTally } from "../../ports/event-log.js";
import { tallyBatches } from "../../rules/tally-batches.js";
import { BATCH, KEY } from "../calls/append-request.js";
import {
  checkRow,
  DamagedRow,
  decodeRow,
  type LogRow,
  MetaWriter,
  metaOf,
  type RowBatch,
} from "../calls/log-row.js";
import type { AppendAnswer, LogOperations, ReadAnswer } from "../calls/operations.js";
import { isDamage, reading } from "../database/damage.js";
import { pageBytesOf } from "../database/database.js";
import type { Segments } from "../index/segments.js";
import { emptyRow, pageWaste } from "./page-waste.js";
import { PendingWrite } from "./pending-write.js";
import { batchesOf, type RequestBatch, refuseLongBatches } from "./request-batches.js";
import type { Usage } from "./usage.js";

/**
 * After a commit of few batches, the next commit extends the newest row while it is small or wastes more than `MOST_WASTE` of its pages.
 * Otherwise consecutive small commits would take up to twice their bytes on disk. Rewriting a row costs too, so large rows, and rows of
 * commits with many batches, are not extended.
 */
const MOST_WASTE = 0.08;
const SMALL_ROW_BYTES = 4 * 1024;
const LARGE_ROW_BYTES = 64 * 1024;
const FEW_BATCHES = 8;
/** Bodies whose checksums are verified at start: what two checkpoints copied. The write-ahead log has checksums of its own. */
const CHECKED_BYTES = 8 * 1024 * 1024;

/** Rows that one call of `tally` reads, so that commits do not wait for it: up to 5 ms. */
const TALLIED_ROWS = 2_000;

type AppendOperation = LogOperations["append"]["request"];

/** The event log in the worker: rows of batches, found by offset. `Segments` finds offsets by id, user, type and event. */
export class Log {
  readonly #segments: Segments;
  readonly #usage: Usage;
  readonly #putRow: StatementSync;
  readonly #dropRow: StatementSync;
  readonly #putSource: StatementSync;
  readonly #rowAt: StatementSync;
  readonly #rowsAfter: StatementSync;
  /** Newest first. */
  readonly #rowsFrom: StatementSync;
  readonly #metaAt: StatementSync;
  readonly #metasAfter: StatementSync;
  readonly #changeRow: StatementSync;
  readonly #sources = new Map<number, string>();
  readonly #numbers = new Map<string, number>();
  #lastSource = 0;
  /** The metas of the row that is being collected, or of the unfilled row. */
  readonly #meta = new MetaWriter();
  readonly #pageBytes: number;
  readonly #rowBytes: number;
  /** The newest row, if the next batches extend it. */
  #unfilled: { readonly first: number; readonly body: Uint8Array } | undefined;
  /** The meta that was decoded last: messages are settled in order, so the next lookup mostly hits it. */
  #lastMeta: readonly RowBatch[] = [];

  constructor(database: DatabaseSync, segments: Segments, usage: Usage, rowBytes: number) {
    this.#rowBytes = rowBytes;
    this.#segments = segments;
    this.#usage = usage;
    this.#pageBytes = pageBytesOf(database);
    this.#putRow = database.prepare("INSERT INTO log_rows (first, meta, body) VALUES (?, ?, ?)");
    this.#dropRow = database.prepare("DELETE FROM log_rows WHERE first = ?");
    this.#putSource = database.prepare("INSERT OR IGNORE INTO sources (no, id) VALUES (?, ?)");
    this.#rowAt = database.prepare(
      "SELECT first, meta, body FROM log_rows WHERE first <= ? ORDER BY first DESC LIMIT 1",
    );
    this.#rowsAfter = database.prepare(
      "SELECT first, meta, body FROM log_rows WHERE first > ? ORDER BY first",
    );
    this.#rowsFrom = database.prepare(
      "SELECT first, meta, body FROM log_rows WHERE first >= ? ORDER BY first DESC",
    );
    this.#metaAt = database.prepare(
      "SELECT first, meta FROM log_rows WHERE first <= ? ORDER BY first DESC LIMIT 1",
    );
    this.#metasAfter = database.prepare("SELECT first, meta FROM log_rows WHERE first > ? ORDER BY first");
    this.#changeRow = database.prepare("UPDATE log_rows SET meta = ?, body = ? WHERE first = ?");
    for (const row of database.prepare("SELECT no, id FROM sources").all()) {
      this.#addSource(row.no as number, row.id as string);
    }
  }

  get sources(): ReadonlyMap<number, string> {
    return this.#sources;
  }

  /** Finds ids in the sealed segments: byte `i` of the answer is 1 if they have the `i`-th id. */
  knownIn({ trustedMs, keys }: AppendOperation): Uint8Array {
    const known = new Uint8Array(keys.length / KEY.size);
    this.#segments.findSealed(keys, trustedMs, known);
    return known;
  }

  /** `known`: the answer of `knownIn`. Within a transaction. */
  append(request: AppendOperation, known: Uint8Array): AppendAnswer {
    const { batches, keys, bodies } = request;
    refuseLongBatches(request);
    this.#numberSources(request);
    // A segment can also be sealed between two appends, because of its age.
    if (this.#unfilled !== undefined && this.#unfilled.first < this.#segments.open.first) this.#fill();
    const isSmall = batches.length <= FEW_BATCHES * BATCH.size && bodies.length <= this.#rowBytes;
    const pending = new PendingWrite(keys.length, this.#segments.end, isSmall);
    const duplicates: number[] = [];
    const firsts: number[] = [];
    for (const batch of batchesOf(request)) {
      const { itemCount, receivedAtMs } = batch;
      if (this.#segments.needsNew(pending.end, pending.bytes, itemCount, receivedAtMs)) {
        this.#writeRow(pending, bodies);
        this.#fill();
        this.#writeKeys(pending);
        this.#segments.beginNew(itemCount);
      }
      const repeated = this.#addKeys(batch, request, known, pending);
      for (const index of repeated) duplicates.push(batch.index, index);
      firsts.push(repeated.length === 0 && batch.keysEnd > batch.keysFrom ? pending.end : -1);
      this.#addBatch(batch, request, repeated, pending);
    }
    this.#writeRow(pending, bodies);
    this.#writeKeys(pending);
    return duplicates.length === 0 ? { firsts } : { firsts, duplicates };
  }

  /** Gives new sources their numbers, which depend on what is stored alone. */
  #numberSources({ batches, newSources }: AppendOperation): void {
    if (newSources.length === 0) return;
    const numbers = newSources.map(([, id]) => this.#numbers.get(id) ?? this.#newSource(id));
    for (let at = BATCH.sourceNo; at < batches.length; at += BATCH.size) {
      const no = batches[at] as number;
      if (no < 0) batches[at] = numbers[-1 - no] as number;
    }
  }

  #newSource(id: string): number {
    const no = this.#lastSource + 1;
    this.#putSource.run(no, id);
    this.#addSource(no, id);
    return no;
  }

  #addSource(no: number, id: string): void {
    this.#sources.set(no, id);
    this.#numbers.set(id, no);
    this.#lastSource = Math.max(this.#lastSource, no);
  }

  /** Adds the keys of a batch's new messages. Returns the indexes of its duplicates. */
  #addKeys(
    { keysFrom, keysEnd }: RequestBatch,
    { keys, trustedMs }: AppendOperation,
    known: Uint8Array,
    pending: PendingWrite,
  ): number[] {
    const { open } = this.#segments;
    const firstPosition = pending.end - open.first;
    const repeated: number[] = [];
    for (let at = keysFrom; at < keysEnd; at += KEY.size) {
      const index = keys[at + KEY.index] ?? 0;
      if (known[at / KEY.size] === 1 || this.#segments.holds(keys, at, trustedMs)) {
        repeated.push(index);
        continue;
      }
      keys[at + KEY.index] = firstPosition + index;
      open.add(firstPosition + index, keys, at);
      pending.addKey(keys, at);
    }
    return repeated;
  }

  /** Adds a batch to the row, unless all its messages are duplicates. */
  #addBatch(
    batch: RequestBatch,
    { bodies, trustedMs }: AppendOperation,
    repeated: readonly number[],
    pending: PendingWrite,
  ): void {
    const { sourceNo, receivedAtMs, flags, itemCount, bodyAt, bodyBytes, extras } = batch;
    const keyCount = (batch.keysEnd - batch.keysFrom) / KEY.size;
    const isStored = repeated.length < keyCount;
    // The bodies of a row are contiguous in the request: a batch that is left out ends the row.
    if (!isStored || pending.bodyBytes + bodyBytes > this.#rowBytes) this.#writeRow(pending, bodies);
    if (!isStored) return;
    const skipped = merged(batch.skipped, repeated);
    this.#meta.add({ sourceNo, receivedAtMs, flags, itemCount, bodyBytes, skipped, extras });
    // Refused items and duplicates are never read again, and a purge would not find them: their user is not indexed.
    if (skipped.length > 0) {
      const body = bodies.subarray(bodyAt, bodyAt + bodyBytes);
      overwriteMessages(body, Array.from(skipped), { isSingle: false, skipped: [] });
    }
    pending.addBatch(bodyAt, bodyBytes, receivedAtMs, Math.max(receivedAtMs, trustedMs));
    pending.end += lastMessageIndex({ itemCount, skipped }) + 1;
    this.#usage.accepted(sourceNo, receivedAtMs, keyCount - repeated.length);
  }

  #writeRow(pending: PendingWrite, bodies: Uint8Array): void {
    if (pending.end > pending.rowFirst) {
      const added = bodies.subarray(pending.bodyAt, pending.bodyAt + pending.bodyBytes);
      const first = this.#unfilled?.first ?? pending.rowFirst;
      const body = this.#unfilled === undefined ? added : Buffer.concat([this.#unfilled.body, added]);
      const meta = this.#meta.seal(body);
      // Not updated in place: SQLite would keep the row on its page even if it fits on the previous one.
      if (this.#unfilled !== undefined) this.#dropRow.run(first);
      this.#putRow.run(first, meta, body);
      // A copy: the request's buffer is much larger.
      if (pending.isSmall && isExtended(meta.length + body.length, this.#pageBytes))
        this.#unfilled = { first, body: body.slice() };
      else this.#fill();
    }
    pending.beginRow();
  }

  /** The next batch begins a new row. */
  #fill(): void {
    this.#unfilled = undefined;
    this.#meta.clear();
  }

  #writeKeys(pending: PendingWrite): void {
    if (pending.end > pending.first) {
      this.#segments.commitKeys(
        pending.first,
        pending.end,
        pending.bytes,
        pending.minMs,
        pending.maxMs,
        pending.keys,
      );
    }
    pending.beginKeys();
  }

  /** Messages are lost: a row without messages takes their place. Within a transaction. */
  leaveOut(first: number, end: number, atMs: number): void {
    this.#fill();
    const [no = 1] = this.#sources.keys();
    const row = emptyRow(no, first, end, atMs);
    this.#segments.beginNew(end - first);
    this.#putRow.run(row.first, row.meta, row.body);
    this.#segments.commitKeys(first, end, row.body.byteLength, atMs, atMs, new Uint32Array(0));
  }

  /** The row that contains an offset, with its batches. Undefined if no row does. */
  #rowWith(offset: number): { readonly row: LogRow; readonly batches: RowBatch[] } | undefined {
    if (offset < this.#segments.start || offset >= this.#segments.end) return undefined;
    const row = this.#rowBefore(offset + 1);
    if (row === undefined) return undefined;
    checkRow(row);
    const batches = decodeRow(row);
    return endOf(batches) > offset ? { row, batches } : undefined;
  }

  /** The last row that begins before an offset. */
  #rowBefore(offset: number): LogRow | undefined {
    return reading(
      () => `rows of the log before the offset ${offset}`,
      () => this.#rowAt.get(offset - 1) as unknown as LogRow | undefined,
    );
  }

  /**
   * Verifies that no row of the segment in memory is missing, and the checksums of the newest rows, which a crash could have damaged:
   * those of the last few checkpoints. Older rows are verified whenever they are read. Throws `DamagedRow`.
   */
  checkTail(): void {
    let end = this.#segments.open.first;
    for (const raw of this.#metasAfter.iterate(end - 1)) {
      const { first, meta } = raw as unknown as Omit<LogRow, "body">;
      if (first !== end) throw new DamagedRow(end);
      end = endOf(batchesIn(first, meta));
    }
    if (end !== this.#segments.end) throw new DamagedRow(end);
    let bytes = 0;
    for (const raw of this.#rowsFrom.iterate(this.#segments.open.first)) {
      const row = raw as unknown as LogRow;
      checkRow(row);
      bytes += row.body.byteLength;
      if (bytes >= CHECKED_BYTES) return;
    }
  }

  /** Counts messages by the metas of some rows. A damaged row counts as none. */
  tally(after: Offset, upTo: Offset): LogTally {
    const from = Math.max(after + 1, this.#segments.start);
    const begun = this.#metaAt.get(from) as { readonly first: number } | undefined;
    const batches: (RowBatch & { readonly sourceId: string })[] = [];
    let rows = 0;
    let end = upTo;
    for (const raw of this.#metasAfter.iterate((begun?.first ?? from) - 1)) {
      const { first, meta } = raw as unknown as Omit<LogRow, "body">;
      if (first > upTo) break;
      if (rows === TALLIED_ROWS) {
        end = (first - 1) as Offset;
        break;
      }
      rows += 1;
      for (const batch of soundBatchesIn(first, meta))
        batches.push({ ...batch, sourceId: this.#sources.get(batch.sourceNo) ?? "" });
    }
    return { upTo: end, counts: tallyBatches(batches, (from - 1) as Offset, end) };
  }

  read({ after, messages, bytes }: LogOperations["readLog"]["request"]): ReadAnswer {
    if (messages === 0) return { rows: [] };
    const rows: LogRow[] = [];
    let gotMessages = 0;
    let gotBytes = 0;
    const take = (row: LogRow, batches: readonly RowBatch[]): void => {
      rows.push(row);
      for (const batch of batches) {
        if (endOf([batch]) <= after + 1) continue;
        gotMessages += batch.itemCount - batch.skipped.length;
        gotBytes += batch.body.byteLength;
      }
    };
    const from = Math.max(after + 1, this.#segments.start);
    const begun = this.#rowWith(from);
    if (begun !== undefined) take(begun.row, begun.batches);
    if (gotMessages < messages && gotBytes < bytes) {
      for (const row of this.#soundAfter(begun?.row.first ?? from - 1, rows)) {
        take(row, decodeRow(row));
        if (gotMessages >= messages || gotBytes >= bytes) break;
      }
    }
    return { rows };
  }

  /** Ends before a damaged row if rows were read (`got`). The next read begins with the damaged row, and then it throws. */
  *#soundAfter(first: number, got: readonly LogRow[]): Generator<LogRow> {
    try {
      for (const raw of this.#rowsAfter.iterate(first)) {
        const row = raw as unknown as LogRow;
        checkRow(row);
        yield row;
      }
    } catch (error) {
      if (!isDamage(error) || got.length === 0) throw error;
    }
  }

  /** The number of the source of the message at an offset. Undefined if no row can contain it. */
  sourceAt(offset: number): number | undefined {
    const found = this.#lastMeta.find((batch) => batch.first <= offset && offset < endOf([batch]));
    if (found !== undefined) return found.sourceNo;
    const row = this.#metaAt.get(offset) as { first: number; meta: Uint8Array } | undefined;
    if (row === undefined) return undefined;
    this.#lastMeta = batchesIn(row.first, row.meta);
    return this.#lastMeta.find((batch) => batch.first <= offset && offset < endOf([batch]))?.sourceNo;
  }

  /** The rows that contain these offsets (descending), each row once. */
  rowsOf(offsets: readonly number[]): LogRow[] {
    const rows: LogRow[] = [];
    let first = Number.POSITIVE_INFINITY;
    for (const offset of offsets) {
      if (offset >= first) continue;
      const found = this.#rowWith(offset);
      if (found === undefined) continue;
      rows.push(found.row);
      first = found.row.first;
    }
    return rows;
  }

  /** Overwrites the messages at these offsets. Within a transaction. */
  purge(offsets: readonly number[]): void {
    // Otherwise the next append would write the unfilled row again with the old body.
    this.#fill();
    const wanted = new Set(offsets);
    for (const row of this.rowsOf([...wanted].sort((a, b) => b - a))) {
      const body = Uint8Array.from(row.body);
      const batches = decodeRow({ ...row, body }).map((batch) => {
        const { first, itemCount, skipped, kind, ip: _, ...rest } = batch;
        const places = Array.from({ length: itemCount }, (_, index) => index).filter((index) =>
          wanted.has(first + index),
        );
        if (places.length === 0) return batch;
        overwriteMessages(batch.body, places, { isSingle: kind !== undefined, skipped });
        // The IP address belongs to the user too, even if the request also has messages of other users.
        return { ...rest, first, itemCount, skipped, ...(kind === undefined ? {} : { kind }) };
      });
      this.#changeRow.run(metaOf(batches, body), body, row.first);
    }
  }

  /** Rows in descending order, from the one with the last message before `before`, until they have `bytes` of bodies. */
  rowsBefore(before: number, bytes: number): LogRow[] {
    const rows: LogRow[] = [];
    let left = bytes;
    let offset = before - 1;
    while (left > 0 && offset >= this.#segments.start) {
      const row = this.#rowBefore(offset + 1);
      if (row === undefined || row.first < this.#segments.start) break;
      checkRow(row);
      rows.push(row);
      left -= row.body.byteLength;
      offset = row.first - 1;
    }
    return rows;
  }
}

/** Whether the next commit extends a row of this size. */
function isExtended(bytes: number, pageBytes: number): boolean {
  if (bytes >= LARGE_ROW_BYTES) return false;
  return bytes < SMALL_ROW_BYTES || pageWaste(bytes, pageBytes) > MOST_WASTE;
}

/** As `batchesIn`; none if the meta cannot be read. */
function soundBatchesIn(first: number, meta: Uint8Array): RowBatch[] {
  try {
    return batchesIn(first, meta);
  } catch {
    return [];
  }
}

/** What a row's meta says of its batches. Throws `DamagedRow` if it cannot be read. */
function batchesIn(first: number, meta: Uint8Array): RowBatch[] {
  try {
    return decodeRow({ first, meta, body: NO_BYTES });
  } catch {
    throw new DamagedRow(first);
  }
}

const NO_BYTES = new Uint8Array(0);

/** The offset after a row's last message. */
export function endOf(batches: readonly RowBatch[]): number {
  const last = batches.at(-1);
  return last === undefined ? 0 : last.first + lastMessageIndex(last) + 1;
}

function merged(a: Uint32Array, b: readonly number[]): ArrayLike<number> {
  if (b.length === 0) return a;
  return [...a, ...b].sort((x, y) => x - y);
}
