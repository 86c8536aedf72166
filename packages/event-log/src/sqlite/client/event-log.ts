import type { Clock } from "@sluice/resilience";
import type { NewBatch, StoredBatch, StoredMessage } from "../../message/batch.js";
import { BEFORE_FIRST, lastMessageIndex, type Offset, offsetAt } from "../../message/batch.js";
import { decodeBatch } from "../../message/decode-batch.js";
import { StorageUnavailable } from "../../ports/errors.js";
import type { AppendResult, EventLog, LogTally, MessageQuery } from "../../ports/event-log.js";
import { matchesQuery, readPosition, writePosition } from "../../rules/page-cursor.js";
import { buffersOf, encodeAppend, type HashedBatch, hashBatch, KeyHasher } from "../calls/append-request.js";
import { decodeRow, type LogRow } from "../calls/log-row.js";
import type {
  AppendAnswer,
  FindAnswer,
  LogStats,
  ReadAnswer,
  Snapshot,
  SourceName,
} from "../calls/operations.js";
import { headOf } from "../calls/sharing.js";
import type { StoreConnection } from "./connection.js";
import { ReadAhead, type ReadRequest } from "./read-ahead.js";
import { SourceNames } from "./source-names.js";

/** Settles the promise of one append. */
interface Waiting {
  resolve(result: AppendResult): void;
  reject(error: unknown): void;
}

interface PendingAppend extends Waiting {
  readonly batch: HashedBatch;
  /** The seed of the store whose hashes the batch has. */
  readonly seed: number;
  /** The last change of a document that was followed when it was admitted. Absent: all were. */
  readonly change: number | undefined;
}

/** How much of the log one page of a search without an index reads and decodes. */
const READ_FOR_A_PAGE_BYTES = 32 * 1024 * 1024;

/**
 * Append requests under way at most: one that the worker commits, and some that wait for the next commit, so that it never pauses.
 * Batches that arrive meanwhile share the next request, because many small requests cost both threads more than their contents. With
 * two, batches of 100 arrive a tenth slower than with four; more gain nothing.
 */
const MAX_REQUESTS = 4;
/** A request of this size takes no more batches, so that no commit takes long. */
const REQUEST_BYTES = 1024 * 1024;

/** How long listeners that do not read are not told of more, in milliseconds. */
const TELL_EVERY_MS = 20;

const NO_DUPLICATES: readonly number[] = [];
const HANDED_BACK: AppendResult = { duplicates: [], isHandedBack: true };

export interface EventLogParts {
  readonly connection: () => StoreConnection;
  readonly clock: Pick<Clock, "after">;
  /** See `TrustedTime`. */
  readonly trustedNow: () => number;
  /** Whether other threads append, too. */
  readonly isShared: () => boolean;
  /** A request of this size takes no more batches. */
  readonly requestBytes?: number | undefined;
}

/** The caller's side of the event log. */
export class SqliteEventLog implements EventLog {
  readonly #connection: () => StoreConnection;
  readonly #parts: EventLogParts;
  readonly #requestBytes: number;
  readonly #sources = new SourceNames();
  readonly #listeners = new Set<() => void>();
  readonly #ahead = new ReadAhead();
  #pending: PendingAppend[] = [];
  /** Append requests that the worker has not answered. */
  #requests = 0;
  #hasher = new KeyHasher(0);
  #shared: SharedArrayBuffer | undefined;
  /** The head that listeners were told of. */
  #told: Offset = BEFORE_FIRST;
  /** Whether the store tells of what other threads append while nobody reads. */
  #isWatching = false;

  constructor(parts: EventLogParts) {
    this.#parts = parts;
    this.#connection = parts.connection;
    this.#requestBytes = parts.requestBytes ?? REQUEST_BYTES;
  }

  opened({ seed, sources, shared }: Snapshot): void {
    if (seed !== this.#hasher.seed) this.#hasher = new KeyHasher(seed);
    this.#sources.reset(sources);
    this.#shared = shared;
    // Messages whose append had no answer may be there after all.
    this.#tell();
    this.watch();
  }

  /** The sources that have a number, without the first `known`. */
  sourcesAfter(known: number): readonly SourceName[] {
    return this.#sources.after(known);
  }

  /** Call it before calls are answered. */
  answering({ named = [] }: Pick<LogStats, "named">): void {
    if (named.length > 0) this.#sources.add(named);
    this.#tell();
  }

  #tell(): void {
    const head = this.head();
    if (head <= this.#told) return;
    this.#told = head;
    for (const listener of this.#listeners) listener();
  }

  /** Lets the store tell of what other threads append. Who reads at the end is told at once, and others soon. */
  watch(): void {
    if (this.#isWatching || this.#listeners.size === 0 || !this.#parts.isShared()) return;
    this.#isWatching = true;
    const again = (): void => {
      this.#isWatching = false;
      this.watch();
    };
    this.#ask({ after: this.#told, messages: 0, bytes: 0 }).then(
      () => this.#parts.clock.after(TELL_EVERY_MS, again),
      () => {
        this.#isWatching = false;
      },
    );
  }

  /** Answered when there is something to read. */
  #ask(request: ReadRequest): Promise<ReadAnswer> {
    return this.#connection().ask("readLog", { ...request, waits: true });
  }

  async append(batch: NewBatch): Promise<AppendResult> {
    const connection = this.#connection();
    connection.check();
    const hashed = hashBatch(batch, this.#hasher);
    const { seed } = this.#hasher;
    return new Promise((resolve, reject) => {
      this.#pending.push({ batch: hashed, seed, change: connection.lastChange, resolve, reject });
      connection.turn.schedule();
    });
  }

  /** Sends the pending appends, up to `MAX_REQUESTS` requests at a time. `isLast`: sends all of them. */
  send(isLast: boolean): void {
    const requests = this.#requests;
    while (this.#pending.length > 0 && (isLast || this.#requests < MAX_REQUESTS)) {
      const group = this.#nextGroup();
      if (group.length === 0) continue;
      this.#requests += 1;
      // Only the promises wait for the answer: the batches are in the request.
      const waiting = group.map(({ resolve, reject }): Waiting => ({ resolve, reject }));
      this.#append(group)
        .then((answer) => settle(waiting, answer))
        .catch((error: unknown) => {
          for (const { reject } of waiting) reject(error);
        })
        .finally(() => {
          this.#requests -= 1;
          if (this.#pending.length > 0) this.#connection().turn.schedule();
        });
    }
    if (!isLast && this.#requests !== requests)
      this.#ahead.begin(this.head(), (request) => this.#ask(request));
  }

  /** The next appends that share a request. Refuses those that were hashed for a store that has been replaced since. */
  #nextGroup(): PendingAppend[] {
    let bytes = 0;
    let count = 0;
    for (const { batch } of this.#pending) {
      if (bytes >= this.#requestBytes) break;
      bytes += batch.content.body.byteLength;
      count += 1;
    }
    const { seed } = this.#hasher;
    return this.#pending.splice(0, count).filter((pending) => {
      if (pending.seed === seed) return true;
      pending.reject(replaced());
      return false;
    });
  }

  /** Awaits nothing: it would keep the batches in memory until the answer. */
  async #append(group: readonly PendingAppend[]): Promise<AppendAnswer> {
    const request = encodeAppend(
      group.map(({ batch }) => batch),
      this.#sources,
    );
    // The first was admitted first.
    const { change } = group[0] as PendingAppend;
    const trustedMs = this.#parts.trustedNow();
    return this.#connection().ask(
      "append",
      { ...request, ...(change === undefined ? {} : { change }), trustedMs },
      buffersOf(request),
    );
  }

  #batchesOf(row: LogRow): StoredBatch[] {
    return decodeRow(row).map(({ sourceNo, ...batch }) => ({
      ...batch,
      sourceId: this.#sources.nameOf(sourceNo),
    }));
  }

  async read(
    after: Offset,
    max: { readonly messages: number; readonly bytes: number },
  ): Promise<readonly StoredBatch[]> {
    const request: ReadRequest = { after, ...max };
    const head = this.head();
    if (after >= head) {
      this.#connection().check();
      this.#ahead.atEnd(request);
      if (this.#parts.isShared()) this.#ahead.begin(head, (one) => this.#ask(one));
      return [];
    }
    const { rows } = await (this.#ahead.take(request) ?? this.#connection().ask("readLog", request));
    const batches: StoredBatch[] = [];
    let messages = 0;
    let bytes = 0;
    for (const batch of rows.flatMap((row) => this.#batchesOf(row))) {
      if (offsetAt(batch.first, lastMessageIndex(batch)) <= after) continue;
      messages += batch.itemCount - batch.skipped.length;
      bytes += batch.body.byteLength;
      if (batches.length > 0 && (messages > max.messages || bytes > max.bytes)) break;
      batches.push(batch);
    }
    return batches;
  }

  async tally(after: Offset, upTo: Offset): Promise<LogTally> {
    return this.#connection().ask("log.tally", [after, upTo]);
  }

  head(): Offset {
    return this.#shared === undefined ? BEFORE_FIRST : headOf(this.#shared);
  }

  onAppend(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.watch();
    return () => this.#listeners.delete(listener);
  }

  async find(...[query, page]: Parameters<EventLog["find"]>): ReturnType<EventLog["find"]> {
    const items: StoredMessage[] = [];
    const position = readPosition(page.cursor) ?? Number.POSITIVE_INFINITY;
    let before: number | undefined = Math.min(position, this.head() + 1);
    let readBytes = 0;
    while (before !== undefined) {
      // Without an index, return a short page instead of reading the whole log at once.
      if (readBytes >= READ_FOR_A_PAGE_BYTES) return { items, nextCursor: writePosition(before) };
      // One more than a page, to know whether there is a next page.
      const limit = page.limit + 1 - items.length;
      const answer: FindAnswer = await this.#connection().ask("findInLog", { query, before, limit });
      for (const message of this.#matchesIn(answer, query, before)) {
        const last = items.at(-1);
        if (items.length === page.limit && last !== undefined)
          return { items, nextCursor: writePosition(last.offset) };
        items.push(message);
      }
      // Messages found by their outcome may still not match the rest of the query.
      if (answer.offsets === undefined || query.outcome !== undefined) readBytes += bodyBytesOf(answer.rows);
      before = answer.before;
    }
    return { items };
  }

  *#matchesIn(answer: FindAnswer, query: MessageQuery, before: number): Generator<StoredMessage> {
    for (const message of this.#messagesDown(answer))
      if (message.offset < before && matchesQuery(message, query)) yield message;
  }

  /** The messages of rows, newest first; with `offsets`, only those. Decodes a batch only when the caller gets to it. */
  *#messagesDown({ rows, offsets }: Pick<FindAnswer, "rows" | "offsets">): Generator<StoredMessage> {
    const wanted = offsets && new Set(offsets);
    for (const batch of this.#batchesDown(rows)) {
      if (offsets !== undefined && !spans(batch, offsets)) continue;
      for (const message of decodeBatch(batch).reverse())
        if (wanted?.has(message.offset) ?? true) yield message;
    }
  }

  *#batchesDown(rows: readonly LogRow[]): Generator<StoredBatch> {
    for (const row of rows) yield* this.#batchesOf(row).reverse();
  }

  async get(offset: Offset): Promise<StoredMessage | undefined> {
    const [batch] = await this.read((offset - 1) as Offset, { messages: 1, bytes: 1 });
    return batch && decodeBatch(batch).find((message) => message.offset === offset);
  }
}

function replaced(): StorageUnavailable {
  return new StorageUnavailable("the store was replaced while the messages arrived");
}

function settle(
  waiting: readonly Waiting[],
  { firsts = [], duplicates = [], isHandedBack }: AppendAnswer,
): void {
  const byBatch = duplicates.length === 0 ? [] : waiting.map((): number[] => []);
  for (let i = 0; i < duplicates.length; i += 2) byBatch[duplicates[i] ?? 0]?.push(duplicates[i + 1] ?? 0);
  for (const [i, { resolve }] of waiting.entries()) {
    const first = firsts[i] ?? -1;
    const own = byBatch[i] ?? NO_DUPLICATES;
    resolve(
      isHandedBack ? HANDED_BACK : { duplicates: own, ...(first < 0 ? {} : { first: first as Offset }) },
    );
  }
}

function bodyBytesOf(rows: readonly LogRow[]): number {
  return rows.reduce((sum, { body }) => sum + body.byteLength, 0);
}

function spans(batch: StoredBatch, offsets: readonly number[]): boolean {
  const end = batch.first + batch.itemCount;
  return offsets.some((offset) => offset >= batch.first && offset < end);
}
