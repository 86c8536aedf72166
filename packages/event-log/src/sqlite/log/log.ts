import type { DatabaseSync, StatementSync } from "node:sqlite";
import { lastMessageIndex } from "../../message/last-message.js";
import { overwriteMessages } from "../../message/overwrite-messages.js";
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
import { Refusal } from "../calls/refusal.js";
import { isDamage, reading } from "../database/damage.js";
import { pageBytesOf } from "../database/database.js";
import type { Segments } from "../index/segments.js";
import { pageWaste } from "./page-waste.js";
import type { Usage } from "./usage.js";

/**
 * After a commit of few batches the newest row takes up the next commit's as well while it is small, or wastes more than this part of its
 * pages: small commits, one after the other, would take up to twice their bytes on disk. Larger rows are left, and so are all where many send
 * at once: what is written once more has its price too.
 */
const MOST_WASTE = 0.08;
const SMALL_ROW_BYTES = 4 * 1024;
const LARGE_ROW_BYTES = 64 * 1024;
const FEW_BATCHES = 8;
/** A position in a segment has 17 bits. */
const MOST_ITEMS = 131_072;

type AppendOperation = LogOperations["append"]["request"];

/** The worker's side of the event log: rows of batches, found by offset; `Segments` finds them by everything else. */
export class Log {
  readonly #segments: Segments;
  readonly #usage: Usage;
  readonly #putRow: StatementSync;
  readonly #dropRow: StatementSync;
  readonly #putSource: StatementSync;
  readonly #rowAt: StatementSync;
  readonly #rowsAfter: StatementSync;
  readonly #metaAt: StatementSync;
  readonly #changeRow: StatementSync;
  readonly #sources = new Map<number, string>();
  /** Of the row that is being put together, or that is unfilled. */
  readonly #meta = new MetaWriter();
  readonly #pageBytes: number;
  readonly #rowBytes: number;
  /** The newest row, where it takes up what comes next. */
  #unfilled: { readonly first: number; readonly body: Uint8Array } | undefined;
  /** The meta that was last asked for, decoded: settled messages come in order. */
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
    this.#metaAt = database.prepare(
      "SELECT first, meta FROM log_rows WHERE first <= ? ORDER BY first DESC LIMIT 1",
    );
    this.#changeRow = database.prepare("UPDATE log_rows SET meta = ?, body = ? WHERE first = ?");
    for (const row of database.prepare("SELECT no, id FROM sources").all()) {
      this.#sources.set(row.no as number, row.id as string);
    }
  }

  get sources(): ReadonlyMap<number, string> {
    return this.#sources;
  }

  /** Which of the ids the sealed segments know. */
  knownIn({ trustedMs, keys }: AppendOperation): Uint8Array {
    const known = new Uint8Array(keys.length / KEY.size);
    this.#segments.findSealed(keys, trustedMs, known);
    return known;
  }

  /** `known`: which of its ids are known to sealed segments. Within a transaction. */
  append(request: AppendOperation, known: Uint8Array): AppendAnswer {
    const { trustedMs, batches, keys, skipped, extras, bodies } = request;
    for (let record = 0; record < batches.length; record += BATCH.size) {
      if ((batches[record + BATCH.itemCount] ?? 0) > MOST_ITEMS) {
        throw new Refusal("payload_too_large", `a batch has more than ${MOST_ITEMS} items`);
      }
    }
    for (const [no, id] of request.newSources) {
      this.#putSource.run(no, id);
      this.#sources.set(no, id);
    }
    // Segments are sealed by age too, between two appends.
    if (this.#unfilled !== undefined && this.#unfilled.first < this.#segments.open.first) this.#fill();
    const duplicates: number[] = [];
    const addedKeys = new Uint32Array(keys.length);
    const isSmall = batches.length <= FEW_BATCHES * BATCH.size && bodies.length <= this.#rowBytes;
    const run = new Run(addedKeys, this.#segments.end, isSmall);
    let keyAt = 0;
    let skippedAt = 0;
    let extrasAt = 0;
    let bodyAt = 0;
    for (let batchNo = 0, record = 0; record < batches.length; batchNo++, record += BATCH.size) {
      const field = (name: keyof typeof BATCH): number => batches[record + BATCH[name]] ?? 0;
      const itemCount = field("itemCount");
      const bodyBytes = field("bodyBytes");
      const receivedAtMs = field("receivedAtMs");
      if (this.#segments.needsNew(run.end, run.bytes, itemCount, receivedAtMs)) {
        this.#writeRow(run, bodies);
        this.#fill();
        this.#writeKeys(run);
        this.#segments.beginNew(itemCount);
      }

      const { open } = this.#segments;
      const first = run.end;
      const twice: number[] = [];
      const keysEnd = keyAt + field("keyCount") * KEY.size;
      for (; keyAt < keysEnd; keyAt += KEY.size) {
        const index = keys[keyAt + KEY.index] ?? 0;
        const isKnown =
          known[keyAt / KEY.size] === 1 ||
          this.#segments.holds(
            keys[keyAt + KEY.idHi] ?? 0,
            keys[keyAt + KEY.idLo] ?? 0,
            keys[keyAt + KEY.idCheck] ?? 0,
            trustedMs,
          );
        if (isKnown) {
          twice.push(index);
          duplicates.push(batchNo, index);
          continue;
        }
        keys[keyAt + KEY.index] = first + index - open.first;
        open.add(first + index - open.first, keys, keyAt);
        run.addKey(keys, keyAt);
      }

      const skippedEnd = skippedAt + field("skippedCount");
      const left = merged(skipped.subarray(skippedAt, skippedEnd), twice);
      const batchExtras = extras.subarray(extrasAt, extrasAt + field("extrasBytes"));
      const isStored = twice.length < field("keyCount");
      // A row's bodies are one stretch of the request's: what is left out ends it.
      if (!isStored || run.bodyBytes + bodyBytes > this.#rowBytes) this.#writeRow(run, bodies);
      if (isStored) {
        const sourceNo = field("sourceNo");
        this.#meta.add({
          sourceNo,
          receivedAtMs,
          flags: field("flags"),
          itemCount,
          bodyBytes,
          skipped: left,
          extras: batchExtras,
        });
        // Nobody reads refused items and duplicates again, and no purge would find whose they are.
        if (left.length > 0)
          overwriteMessages(bodies.subarray(bodyAt, bodyAt + bodyBytes), Array.from(left), {
            isSingle: false,
            skipped: [],
          });
        run.addBatch(bodyAt, bodyBytes, receivedAtMs, Math.max(receivedAtMs, trustedMs));
        run.end = first + lastMessageIndex({ itemCount, skipped: left }) + 1;
        this.#usage.accepted(sourceNo, receivedAtMs, field("keyCount") - twice.length);
      }
      skippedAt = skippedEnd;
      extrasAt += field("extrasBytes");
      bodyAt += bodyBytes;
    }
    this.#writeRow(run, bodies);
    this.#writeKeys(run);
    return duplicates.length === 0 ? {} : { duplicates };
  }

  #writeRow(run: Run, bodies: Uint8Array): void {
    if (run.end > run.rowFirst) {
      const added = bodies.subarray(run.bodyAt, run.bodyAt + run.bodyBytes);
      const first = this.#unfilled?.first ?? run.rowFirst;
      const body = this.#unfilled === undefined ? added : Buffer.concat([this.#unfilled.body, added]);
      const meta = this.#meta.seal(body);
      // Not changed in place: SQLite leaves a row on the page where it stands, though it would fit on the one before.
      if (this.#unfilled !== undefined) this.#dropRow.run(first);
      this.#putRow.run(first, meta, body);
      // A copy: what was handed over is much larger.
      if (run.isSmall && takesMore(meta.length + body.length, this.#pageBytes))
        this.#unfilled = { first, body: body.slice() };
      else this.#fill();
    }
    run.beginRow();
  }

  /** What comes next begins a row of its own. */
  #fill(): void {
    this.#unfilled = undefined;
    this.#meta.clear();
  }

  #writeKeys(run: Run): void {
    if (run.end > run.first) {
      this.#segments.commitKeys(run.first, run.end, run.bytes, run.minMs, run.maxMs, run.addedKeys());
    }
    run.beginKeys();
  }

  /** The row that holds an offset, with its batches; undefined where there is none. */
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
   * Reads the newest rows (those of the segment in memory) and compares their checksums: what a crash could have damaged.
   * Older ones are compared whenever they are read.
   */
  checkTail(): void {
    let end = this.#segments.open.first;
    for (const raw of this.#rowsAfter.iterate(end - 1)) {
      const row = raw as unknown as LogRow;
      checkRow(row);
      const batches = decodeRow(row);
      if (row.first !== end) throw new DamagedRow(end);
      end = endOf(batches);
    }
    if (end !== this.#segments.end) throw new DamagedRow(end);
  }

  read({ after, messages, bytes }: LogOperations["readLog"]["request"]): ReadAnswer {
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

  /** What comes before a damaged row can be read; the next reading, which begins with it (`got` is empty then), says that it is damaged. */
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

  /** The number of the source whose message is at an offset. */
  sourceAt(offset: number): number | undefined {
    const found = this.#lastMeta.find((batch) => batch.first <= offset && offset < endOf([batch]));
    if (found !== undefined) return found.sourceNo;
    const row = this.#metaAt.get(offset) as { first: number; meta: Uint8Array } | undefined;
    if (row === undefined) return undefined;
    try {
      this.#lastMeta = decodeRow({ ...row, body: new Uint8Array(0) });
    } catch {
      throw new DamagedRow(row.first);
    }
    return this.#lastMeta.find((batch) => batch.first <= offset && offset < endOf([batch]))?.sourceNo;
  }

  /** The rows that hold these offsets (in descending order), each once. */
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
    // It would be written again as it was.
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
        // The sender's address is the user's too, whoever else sent in the same request.
        return { ...rest, first, itemCount, skipped, ...(kind === undefined ? {} : { kind }) };
      });
      this.#changeRow.run(metaOf(batches, body), body, row.first);
    }
  }

  /** Rows downwards from the one that holds the last message before `before`. */
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

function takesMore(bytes: number, pageBytes: number): boolean {
  if (bytes >= LARGE_ROW_BYTES) return false;
  return bytes < SMALL_ROW_BYTES || pageWaste(bytes, pageBytes) > MOST_WASTE;
}

/** The offset after a row's last message. */
export function endOf(batches: readonly RowBatch[]): number {
  const last = batches.at(-1);
  return last === undefined ? 0 : last.first + lastMessageIndex(last) + 1;
}

/** The row and the keys that an append is putting together. */
class Run {
  first: number;
  end: number;
  rowFirst: number;
  bodyAt = 0;
  bodyBytes = 0;
  bytes = 0;
  minMs = Number.MAX_SAFE_INTEGER;
  maxMs = 0;
  /** Whether the commit may share its last row with the next. */
  readonly isSmall: boolean;
  readonly #keys: Uint32Array;
  #keysFrom = 0;
  #keysTo = 0;

  constructor(keys: Uint32Array, first: number, isSmall: boolean) {
    this.isSmall = isSmall;
    this.#keys = keys;
    this.first = first;
    this.end = first;
    this.rowFirst = first;
  }

  addKey(keys: Uint32Array, at: number): void {
    for (let word = 0; word < KEY.size; word++) this.#keys[this.#keysTo + word] = keys[at + word] ?? 0;
    this.#keysTo += KEY.size;
  }

  addBatch(bodyAt: number, bodyBytes: number, minMs: number, maxMs: number): void {
    if (this.bodyBytes === 0) this.bodyAt = bodyAt;
    this.bodyBytes += bodyBytes;
    this.bytes += bodyBytes;
    this.minMs = Math.min(this.minMs, minMs);
    this.maxMs = Math.max(this.maxMs, maxMs);
  }

  beginRow(): void {
    this.rowFirst = this.end;
    this.bodyBytes = 0;
  }

  addedKeys(): Uint32Array {
    return this.#keys.subarray(this.#keysFrom, this.#keysTo);
  }

  beginKeys(): void {
    this.first = this.end;
    this.#keysFrom = this.#keysTo;
    this.bytes = 0;
    this.minMs = Number.MAX_SAFE_INTEGER;
    this.maxMs = 0;
  }
}

function merged(a: Uint32Array, b: readonly number[]): ArrayLike<number> {
  if (b.length === 0) return a;
  return [...a, ...b].sort((x, y) => x - y);
}
