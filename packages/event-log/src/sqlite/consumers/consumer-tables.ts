import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Offset } from "../../message/batch.js";
import type { Attempt, ConsumerState, Delivery, FinalState, SentRange } from "../../ports/consumers.js";
import { dueAt, newReplay } from "../../rules/carry-over.js";
import { ByteWriter } from "../calls/bytes.js";
import type { RetryNowRequest } from "../calls/operations.js";
import { Refusal } from "../calls/refusal.js";
import { ATTEMPT, FINAL_STATES, OUTCOME, type SettleRequest } from "../calls/settle-request.js";
import { DamagedData, type DamageListener, isDamage } from "../database/damage.js";
import type { Log } from "../log/log.js";
import type { Usage } from "../log/usage.js";
import { AttemptEncoder, writeAttempts } from "./attempt-codec.js";
import { ChunkWriter } from "./chunk-writer.js";
import { type ChunkRow, Chunks, REACH, STREAM } from "./chunks.js";
import { LateRows } from "./late-rows.js";
import { Strings } from "./outcome-codec.js";
import { PurgedMessages } from "./purged-messages.js";
import { RetryQueue, RetryTable } from "./retries.js";

export interface Consumer {
  readonly no: number;
  readonly id: string;
  cursor: number;
  readonly retries: RetryQueue;
  readonly outcomes: ChunkWriter;
  readonly attempts: ChunkWriter;
}

/** Prefix of the id of a removed consumer while its rows are being deleted. No consumer's own id begins with it. */
export const REMOVED = "\0removed ";
/** Replaces the error message of a purged attempt. */
const REMOVED_TEXT = "(removed)";
/** Rows that are deleted in one step. */
const DELETED_AT_ONCE = 500;
/** Approximate bytes that a step writes: the pages of deleted rows are overwritten. */
const DELETED_BYTES = 1024 * 1024;

/** Cursors, retries, outcomes and attempts. */
export class ConsumerTables {
  readonly strings: Strings;
  readonly chunks: Chunks;
  readonly #database: DatabaseSync;
  readonly #log: Log;
  readonly #usage: Usage;
  readonly #consumers = new Map<string, Consumer>();
  readonly #removed: number[] = [];
  readonly #purged: PurgedMessages;
  readonly #insert: StatementSync;
  readonly #moveCursor: StatementSync;
  readonly #setRange: StatementSync;
  readonly #retries: RetryTable;
  readonly #late: LateRows;
  readonly #damaged: DamageListener;

  constructor(
    database: DatabaseSync,
    log: Log,
    usage: Usage,
    damaged: DamageListener = () => {},
    purged: PurgedMessages = new PurgedMessages(database),
  ) {
    this.#purged = purged;
    this.#database = database;
    this.#log = log;
    this.#usage = usage;
    this.#damaged = damaged;
    this.strings = new Strings(database);
    this.chunks = new Chunks(database, this.strings);
    this.#late = new LateRows(database, this.strings);
    this.#insert = database.prepare("INSERT INTO consumers (id, cursor) VALUES (?, ?)");
    this.#moveCursor = database.prepare("UPDATE consumers SET cursor = ? WHERE no = ?");
    this.#setRange = database.prepare("UPDATE consumers SET range = ? WHERE no = ?");
    this.#retries = new RetryTable(database, damaged);
    this.#load();
  }

  #load(): void {
    const known = new Map([...this.#consumers.values()].map((consumer) => [consumer.no, consumer]));
    this.#consumers.clear();
    this.#removed.length = 0;
    for (const row of this.#database.prepare("SELECT no, id, cursor FROM consumers ORDER BY no").all()) {
      const { no, id, cursor } = row as unknown as { no: number; id: string; cursor: number };
      const consumer = known.get(no);
      if (id.startsWith(REMOVED)) this.#removed.push(no);
      else if (consumer === undefined) this.#add(no, id, cursor);
      else {
        consumer.cursor = cursor;
        consumer.retries.recount();
        consumer.outcomes.end();
        consumer.attempts.end();
        this.#consumers.set(id, consumer);
      }
    }
  }

  /** Reads the tables again. Call after a rollback. */
  reload(): void {
    this.strings.reload();
    this.#load();
  }

  #add(no: number, id: string, cursor: number, { isNew = false } = {}): Consumer {
    const consumer: Consumer = {
      no,
      id,
      cursor,
      retries: new RetryQueue(this.#retries, no, { isNew }),
      outcomes: new ChunkWriter(STREAM.outcomes, this.strings),
      attempts: new ChunkWriter(STREAM.attempts, this.strings),
    };
    this.#consumers.set(id, consumer);
    return consumer;
  }

  get all(): Iterable<Consumer> {
    return this.#consumers.values();
  }

  find(id: string): Consumer | undefined {
    return this.#consumers.get(id);
  }

  get(id: string): Consumer {
    const consumer = this.#consumers.get(id);
    if (consumer === undefined) throw new Refusal("not_found", `consumer ${id}`);
    return consumer;
  }

  /** `ahead`: the answer of `settledAhead`. Within a transaction. */
  open(consumerId: string, startAfter: number, ahead: readonly number[]): ConsumerState {
    let consumer = this.#consumers.get(consumerId);
    if (consumer === undefined) {
      const no = Number(this.#insert.run(consumerId, startAfter).lastInsertRowid);
      consumer = this.#add(no, consumerId, startAfter, { isNew: true });
    }
    const { cursor, retries } = consumer;
    retries.endLeases();
    const range = this.#rangeOf(consumer);
    return {
      cursor: cursor as Offset,
      settledAhead: ahead as readonly Offset[],
      retries: retries.count,
      ...(range === undefined ? {} : { range }),
    };
  }

  /** A range that cannot be read is none: its messages are sent as if they were new. */
  #rangeOf({ no }: Consumer): SentRange | undefined {
    const row = this.#database.prepare("SELECT range FROM consumers WHERE no = ?").get(no);
    try {
      return row?.range === null ? undefined : (JSON.parse(String(row?.range)) as SentRange);
    } catch (error) {
      this.#damaged(new DamagedData("the lists of messages that are being sent", error));
      return undefined;
    }
  }

  /** Messages after a consumer's cursor that have an outcome or a retry, ascending. Without damaged entries, which are sent again. */
  settledAhead(consumerId: string): readonly number[] {
    const consumer = this.#consumers.get(consumerId);
    if (consumer === undefined) return [];
    const { no, cursor } = consumer;
    const ahead = new Set<number>();
    for (const chunkNo of this.#tolerant([], () => this.chunks.after(no, cursor))) {
      const row = this.#tolerant(undefined, () => this.chunks.at(chunkNo));
      const outcomes = row === undefined ? [] : this.#tolerant([], () => this.chunks.outcomesIn(row));
      for (const { offset } of outcomes) if (offset > cursor) ahead.add(offset);
    }
    for (const table of ["retries", "late_outcomes"]) {
      const rows = this.#database.prepare(`SELECT offset FROM ${table} WHERE consumer = ? AND offset > ?`);
      for (const { offset } of this.#tolerant([], () => rows.all(no, cursor))) ahead.add(offset as number);
    }
    return [...ahead].sort((a, b) => a - b);
  }

  /** The result of `read`, or `fallback` if the data is damaged. */
  #tolerant<T>(fallback: T, read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#damaged(error);
      return fallback;
    }
  }

  /** The number of the source of each outcome's message. Undefined if the message is no longer stored or cannot be read. */
  sourcesOf({ outcomes }: SettleRequest): (number | undefined)[] {
    const sources: (number | undefined)[] = [];
    for (let at = 0; at < outcomes.length; at += OUTCOME.size) {
      const offset = outcomes[at + OUTCOME.offset] ?? 0;
      sources.push(this.#tolerant(undefined, () => this.#log.sourceAt(offset)));
    }
    return sources;
  }

  /**
   * `sources`: the answer of `sourcesOf`. Within a transaction. Returns the retries that were left out, because their messages were purged;
   * undefined: none.
   */
  settle(request: SettleRequest, sources: readonly (number | undefined)[]): Offset[] | undefined {
    const consumer = this.get(request.consumerId);
    if (request.cursor > consumer.cursor) {
      consumer.cursor = request.cursor;
      this.#moveCursor.run(request.cursor, consumer.no);
    }
    if (request.range !== undefined) this.#setRange.run(request.range, consumer.no);
    this.#addAttempts(consumer, request);
    this.#addOutcomes(consumer, request);
    let leftOut: Offset[] | undefined;
    for (const retry of request.retries) {
      if (!this.#purged.has(retry.offset)) consumer.retries.put(retry, request.nowMs);
      else leftOut = [...(leftOut ?? []), retry.offset];
    }
    for (const { offset, lane } of request.lanes ?? []) consumer.retries.setLane(offset, lane);
    for (const chunk of [consumer.outcomes, consumer.attempts]) {
      if (chunk.isChanged) this.chunks.write(consumer.no, chunk);
    }
    this.#count(request, sources);
    return leftOut;
  }

  /** Whether a message is so far behind the cursor that its outcome and attempts get their own rows. */
  #isLate(consumer: Consumer, offset: number): boolean {
    return offset < consumer.cursor - REACH;
  }

  #makeRoom(consumer: Consumer, chunk: ChunkWriter, offset: number): void {
    if (chunk.takes(offset)) return;
    if (chunk.isChanged) this.chunks.write(consumer.no, chunk);
    chunk.begin(offset);
  }

  #addOutcomes(consumer: Consumer, { outcomes, strings }: SettleRequest): void {
    for (let at = 0; at < outcomes.length; at += OUTCOME.size) {
      const offset = outcomes[at + OUTCOME.offset] ?? 0;
      const state = FINAL_STATES[outcomes[at + OUTCOME.state] ?? 0] ?? "failed";
      const reason = strings[outcomes[at + OUTCOME.reason] ?? 0] ?? "";
      const atMs = outcomes[at + OUTCOME.atMs] ?? 0;
      if (this.#isLate(consumer, offset)) {
        this.#late.putOutcome(consumer.no, offset, state, reason, atMs);
      } else {
        this.#makeRoom(consumer, consumer.outcomes, offset);
        consumer.outcomes.addOutcome({ offset, state, reason, atMs });
      }
      consumer.retries.drop(offset);
    }
  }

  #count({ outcomes }: SettleRequest, sources: readonly (number | undefined)[]): void {
    sources.forEach((sourceNo, i) => {
      const at = i * OUTCOME.size;
      const state = FINAL_STATES[outcomes[at + OUTCOME.state] ?? 0] ?? "failed";
      if (sourceNo !== undefined) this.#usage.settled(sourceNo, outcomes[at + OUTCOME.atMs] ?? 0, state);
    });
  }

  #addAttempts(consumer: Consumer, { attempts, strings }: SettleRequest): void {
    for (let at = 0; at < attempts.length; at += ATTEMPT.size) {
      const record = attempts.subarray(at, at + ATTEMPT.size);
      const offset = record[ATTEMPT.offset] ?? 0;
      if (this.#purged.has(offset)) continue;
      if (this.#isLate(consumer, offset)) {
        const data = new ByteWriter();
        new AttemptEncoder(this.strings, offset).write(record, strings, data);
        this.#late.putAttempt(consumer.no, offset, data.view());
      } else {
        this.#makeRoom(consumer, consumer.attempts, offset);
        consumer.attempts.addAttempt(record, strings);
      }
    }
  }

  /** The current state of a message at a consumer. Undefined if the consumer has not processed it. */
  delivery(consumer: Consumer, offset: number): Delivery | undefined {
    const waiting = consumer.retries.at(offset);
    if (waiting !== undefined) {
      const { retry, putAtMs } = waiting;
      return {
        consumerId: consumer.id,
        offset: retry.offset,
        state: "pending",
        reason: retry.reason,
        atMs: putAtMs,
        rounds: retry.rounds,
        nextAttemptAtMs: retry.dueAtMs,
        retry,
      };
    }
    const outcome = this.#outcome(consumer, offset);
    if (outcome === undefined) return undefined;
    const rounds = this.attempts(consumer, offset).reduce((most, { attempt }) => Math.max(most, attempt), 0);
    return { consumerId: consumer.id, offset: offset as Offset, ...outcome, rounds };
  }

  /** Makes messages due; see `Consumers.retryNow`. Within a transaction. */
  retryNow({ consumerId, offsets, dueAtMs, states, nowMs }: RetryNowRequest): Offset[] {
    const consumer = this.get(consumerId);
    const wanted = new Set(states);
    return offsets.filter((offset) => {
      const waiting = consumer.retries.at(offset)?.retry;
      const state = waiting === undefined ? this.#outcome(consumer, offset)?.state : "pending";
      if (state === undefined || !wanted.has(state)) return false;
      consumer.retries.put(dueAt(dueAtMs, waiting ?? newReplay(offset, dueAtMs)), nowMs);
      return true;
    });
  }

  /** Whether a message has this final state at any consumer. */
  isSettledAs(offset: number, state: FinalState): boolean {
    return [...this.#consumers.values()].some(
      (consumer) =>
        consumer.retries.at(offset) === undefined && this.#outcome(consumer, offset)?.state === state,
    );
  }

  #outcome(
    consumer: Consumer,
    offset: number,
  ): { state: FinalState; reason: string; atMs: number } | undefined {
    const late = this.#late.outcomeAt(consumer.no, offset);
    if (late !== undefined) return late;
    for (const row of this.chunks.covering(consumer.no, STREAM.outcomes, offset).reverse()) {
      const found = this.chunks.outcomesIn(row).findLast((entry) => entry.offset === offset);
      if (found !== undefined) return { state: found.state, reason: found.reason, atMs: found.atMs };
    }
    return undefined;
  }

  attempts(consumer: Consumer, offset: number): Attempt[] {
    return [
      ...this.chunks
        .covering(consumer.no, STREAM.attempts, offset)
        .flatMap((row) => this.chunks.attemptsIn(row))
        .filter((attempt) => attempt.offset === offset),
      ...this.#late.attemptsOf(consumer.no, offset).map(({ attempt }) => attempt),
    ];
  }

  /**
   * Removes the retries of these messages and the contents of their attempts, because responses may repeat what was sent. Attempts of other
   * messages do not change. Throws if an attempt cannot be read; then the transaction must be rolled back. Within a transaction.
   */
  purge(offsets: readonly number[]): { attempts: number; retries: number } {
    const purged = new Set(offsets);
    const removed = { attempts: 0, retries: 0 };
    for (const consumer of this.#consumers.values()) {
      const chunks = new Map<number, ChunkRow>();
      for (const offset of offsets) {
        if (consumer.retries.drop(offset)) removed.retries += 1;
        for (const { no, attempt } of this.#late.attemptsOf(consumer.no, offset)) {
          removed.attempts += 1;
          this.#late.replaceAttempt(no, writeAttempts([withoutContents(attempt)], offset, this.strings));
        }
        for (const chunk of this.chunks.covering(consumer.no, STREAM.attempts, offset))
          chunks.set(chunk.no, chunk);
      }
      for (const chunk of chunks.values()) removed.attempts += this.#purgeChunk(consumer, chunk, purged);
    }
    // Only now: if a read above fails because of damage, the messages stay, and later attempts are stored.
    this.#purged.add(offsets);
    return removed;
  }

  /** Returns the number of changed attempts. */
  #purgeChunk(consumer: Consumer, chunk: ChunkRow, purged: ReadonlySet<number>): number {
    const stored = this.chunks.attemptsIn(chunk);
    const count = stored.filter(({ offset }) => purged.has(offset)).length;
    if (count === 0) return 0;
    const attempts = stored.map((one) => (purged.has(one.offset) ? withoutContents(one) : one));
    this.chunks.replace(chunk.no, writeAttempts(attempts, chunk.base, this.strings));
    if (consumer.attempts.no === chunk.no) consumer.attempts.end();
    return count;
  }

  remove(consumerId: string): void {
    const consumer = this.#consumers.get(consumerId);
    if (consumer === undefined) return;
    this.#database
      .prepare("UPDATE consumers SET id = ? WHERE no = ?")
      .run(`${REMOVED}${consumer.no}`, consumer.no);
    this.#consumers.delete(consumerId);
    this.#removed.push(consumer.no);
  }

  /** The offset of the oldest message that the consumer still needs. */
  oldestNeeded(consumer: Consumer): number {
    return Math.min(consumer.cursor + 1, consumer.retries.oldestOffset ?? Number.POSITIVE_INFINITY);
  }

  /** Call after the chunks that end before an offset were deleted: a newest chunk that was among them is ended. */
  chunksWereDropped(consumer: Consumer, end: number): void {
    for (const chunk of [consumer.outcomes, consumer.attempts]) {
      if (chunk.no !== undefined && chunk.max < end) chunk.end();
    }
  }

  /** Whether removed consumers have rows left. */
  get hasWork(): boolean {
    return this.#removed.length > 0;
  }

  /** Deletes some rows of a removed consumer. Returns the approximate bytes written. Within a transaction. */
  deleteNext(): number {
    const no = this.#removed[0];
    if (no === undefined) return 0;
    for (const [table, key] of [
      ["chunks", "no"],
      ["late_attempts", "no"],
      ["late_outcomes", "offset"],
      ["retries", "offset"],
    ]) {
      const { changes } = this.#database
        .prepare(
          `DELETE FROM ${table} WHERE consumer = ? AND ${key} IN
           (SELECT ${key} FROM ${table} WHERE consumer = ? LIMIT ${DELETED_AT_ONCE})`,
        )
        .run(no, no);
      if (Number(changes) > 0) return DELETED_BYTES;
    }
    this.#database.prepare("DELETE FROM consumers WHERE no = ?").run(no);
    this.#removed.shift();
    return DELETED_BYTES;
  }
}

function withoutContents(attempt: Attempt): Attempt {
  const { error, response: _, responseHeaders: __, requestHeaders: ___, ...rest } = attempt;
  return {
    ...rest,
    ...(error === undefined ? {} : { error: { code: error.code, message: REMOVED_TEXT } }),
  };
}
