import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Attempt, ConsumerState, Delivery, FinalState, Offset } from "../../store.js";
import type { ConsumerOperations } from "../operations.js";
import { ATTEMPT, FINAL_STATES, OUTCOME, type SettleRequest } from "../settle-request.js";
import {
  Chunks,
  ChunkWriter,
  REACH,
  readAttempts,
  readOutcomes,
  STREAM,
  writeAttempts,
  writeLateAttempt,
} from "./chunks.js";
import type { Log } from "./log.js";
import { Refusal } from "./refusal.js";
import { RetryQueue, RetryTable } from "./retries.js";
import { Strings } from "./strings.js";
import type { Usage } from "./usage.js";

export interface Consumer {
  readonly no: number;
  readonly id: string;
  cursor: number;
  readonly retries: RetryQueue;
  readonly outcomes: ChunkWriter;
  readonly attempts: ChunkWriter;
}

/** Before the id of a consumer that was removed and whose rows are still being deleted. No consumer's id begins so. */
const REMOVED = "\0removed ";
/** What stands in the place of what was said about a purged message. */
const REMOVED_TEXT = "(removed)";
/** Rows that are deleted in one step. */
const DELETED_AT_ONCE = 500;
/** About what a step writes: the pages of deleted rows are overwritten. */
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
  /** Messages purged since the start: what is still under way about them must not bring back what was taken out. */
  readonly #purged = new Set<number>();
  readonly #insert: StatementSync;
  readonly #moveCursor: StatementSync;
  readonly #retries: RetryTable;
  readonly #putLateOutcome: StatementSync;
  readonly #lateOutcomeAt: StatementSync;
  readonly #putLateAttempt: StatementSync;
  readonly #lateAttemptsOf: StatementSync;

  constructor(database: DatabaseSync, log: Log, usage: Usage) {
    this.#database = database;
    this.#log = log;
    this.#usage = usage;
    this.strings = new Strings(database);
    this.chunks = new Chunks(database);
    this.#insert = database.prepare("INSERT INTO consumers (id, cursor) VALUES (?, ?)");
    this.#moveCursor = database.prepare("UPDATE consumers SET cursor = ? WHERE no = ?");
    this.#retries = new RetryTable(database);
    this.#putLateOutcome = database.prepare(
      "INSERT OR REPLACE INTO late_outcomes (consumer, offset, state, reason, at_ms) VALUES (?, ?, ?, ?, ?)",
    );
    this.#lateOutcomeAt = database.prepare(
      "SELECT state, reason, at_ms FROM late_outcomes WHERE consumer = ? AND offset = ?",
    );
    this.#putLateAttempt = database.prepare(
      "INSERT INTO late_attempts (consumer, offset, data) VALUES (?, ?, ?)",
    );
    this.#lateAttemptsOf = database.prepare(
      "SELECT data FROM late_attempts WHERE consumer = ? AND offset = ? ORDER BY no",
    );
    for (const row of database.prepare("SELECT no, id, cursor FROM consumers ORDER BY no").all()) {
      const { no, id, cursor } = row as unknown as { no: number; id: string; cursor: number };
      if (id.startsWith(REMOVED)) this.#removed.push(no);
      else this.#add(no, id, cursor);
    }
  }

  #add(no: number, id: string, cursor: number): Consumer {
    const consumer: Consumer = {
      no,
      id,
      cursor,
      retries: new RetryQueue(this.#retries, no),
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

  open({ consumerId, startAfter }: ConsumerOperations["openConsumer"]["request"]): ConsumerState {
    let consumer = this.#consumers.get(consumerId);
    if (consumer === undefined) {
      const no = Number(this.#insert.run(consumerId, startAfter).lastInsertRowid);
      consumer = this.#add(no, consumerId, startAfter);
    }
    const { no, cursor } = consumer;
    const ahead = new Set<number>();
    for (const { data, base } of this.chunks.after(no, cursor)) {
      for (const { offset } of readOutcomes(data, base, this.strings)) if (offset > cursor) ahead.add(offset);
    }
    for (const table of ["retries", "late_outcomes"]) {
      const rows = this.#database.prepare(`SELECT offset FROM ${table} WHERE consumer = ? AND offset > ?`);
      for (const { offset } of rows.all(no, cursor)) ahead.add(offset as number);
    }
    return {
      cursor: cursor as Offset,
      settledAhead: [...ahead].sort((a, b) => a - b) as Offset[],
      retries: consumer.retries.count,
    };
  }

  /** Within a transaction; `flush` ends it. */
  settle(request: SettleRequest): void {
    const consumer = this.get(request.consumerId);
    if (request.cursor > consumer.cursor) {
      consumer.cursor = request.cursor;
      this.#moveCursor.run(request.cursor, consumer.no);
    }
    this.#addAttempts(consumer, request);
    this.#addOutcomes(consumer, request);
    for (const retry of request.retries) {
      if (!this.#purged.has(retry.offset)) consumer.retries.put(retry, request.nowMs);
    }
  }

  /** Messages this far behind the cursor are settled by rows of their own. */
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
        this.#putLateOutcome.run(consumer.no, offset, FINAL_STATES.indexOf(state), reason, atMs);
      } else {
        this.#makeRoom(consumer, consumer.outcomes, offset);
        consumer.outcomes.addOutcome({ offset, state, reason, atMs });
      }
      consumer.retries.drop(offset);
      const sourceNo = this.#log.sourceAt(offset);
      if (sourceNo !== undefined) this.#usage.settled(sourceNo, atMs, state);
    }
  }

  #addAttempts(consumer: Consumer, { attempts, strings }: SettleRequest): void {
    for (let at = 0; at < attempts.length; at += ATTEMPT.size) {
      const record = attempts.subarray(at, at + ATTEMPT.size);
      const offset = record[ATTEMPT.offset] ?? 0;
      if (this.#purged.has(offset)) continue;
      if (this.#isLate(consumer, offset)) {
        this.#putLateAttempt.run(consumer.no, offset, writeLateAttempt(this.strings, record, strings));
      } else {
        this.#makeRoom(consumer, consumer.attempts, offset);
        consumer.attempts.addAttempt(record, strings);
      }
    }
  }

  /** Writes the chunks that this commit has added to. Within its transaction. */
  flush(): void {
    for (const consumer of this.#consumers.values()) {
      if (consumer.outcomes.isChanged) this.chunks.write(consumer.no, consumer.outcomes);
      if (consumer.attempts.isChanged) this.chunks.write(consumer.no, consumer.attempts);
    }
  }

  /** Where a message stands at a consumer now; undefined where it has not come to it. */
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

  /** Whether a message stands so at a consumer, or at any. */
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
    const late = this.#lateOutcomeAt.get(consumer.no, offset) as unknown as
      | { state: number; reason: string; at_ms: number }
      | undefined;
    if (late !== undefined) {
      return { state: FINAL_STATES[late.state] ?? "failed", reason: late.reason, atMs: late.at_ms };
    }
    for (const { data, base } of this.chunks.covering(consumer.no, STREAM.outcomes, offset).reverse()) {
      const found = readOutcomes(data, base, this.strings).findLast((entry) => entry.offset === offset);
      if (found !== undefined) return { state: found.state, reason: found.reason, atMs: found.atMs };
    }
    return undefined;
  }

  attempts(consumer: Consumer, offset: number): Attempt[] {
    const attempts: Attempt[] = [];
    for (const { data, base } of this.chunks.covering(consumer.no, STREAM.attempts, offset)) {
      for (const attempt of readAttempts(data, base, this.strings)) {
        if (attempt.offset === offset) attempts.push(attempt);
      }
    }
    for (const { data } of this.#lateAttemptsOf.all(consumer.no, offset)) {
      attempts.push(...readAttempts(data as Uint8Array, offset, this.strings));
    }
    return attempts;
  }

  /**
   * Removes what these messages left behind: retries, and of attempts what was said, since answers may repeat what was sent. An
   * answer that is stored once for many goes for all where it holds one of the `texts`. Within a transaction.
   */
  purge(offsets: readonly number[], texts: readonly string[]): { attempts: number; retries: number } {
    this.flush();
    const purged = new Set(offsets);
    for (const offset of offsets) this.#purged.add(offset);
    const removed = { attempts: 0, retries: 0 };
    const silenced = (attempt: Attempt): Attempt => {
      if (!purged.has(attempt.offset)) return attempt;
      const { response, requestHeaders, error, ...rest } = attempt;
      removed.attempts += 1;
      for (const said of [response, requestHeaders && JSON.stringify(requestHeaders), error?.message])
        if (said !== undefined && texts.some((text) => said.includes(text)))
          this.strings.replace(said, REMOVED_TEXT);
      return {
        ...rest,
        ...(error === undefined ? {} : { error: { code: error.code, message: REMOVED_TEXT } }),
      };
    };
    for (const consumer of this.#consumers.values()) {
      for (const offset of offsets) {
        if (consumer.retries.drop(offset)) removed.retries += 1;
        const late = this.#lateAttemptsOf
          .all(consumer.no, offset)
          .flatMap(({ data }) => readAttempts(data as Uint8Array, offset, this.strings));
        if (late.length === 0) continue;
        this.#database
          .prepare("DELETE FROM late_attempts WHERE consumer = ? AND offset = ?")
          .run(consumer.no, offset);
        for (const attempt of late)
          this.#putLateAttempt.run(
            consumer.no,
            offset,
            writeAttempts([silenced(attempt)], offset, this.strings),
          );
      }
      const chunks = new Map(
        offsets.flatMap((offset) =>
          this.chunks.covering(consumer.no, STREAM.attempts, offset).map((chunk) => [chunk.no, chunk]),
        ),
      );
      for (const { no, base, data } of chunks.values()) {
        const attempts = readAttempts(data, base, this.strings);
        if (!attempts.some((attempt) => purged.has(attempt.offset))) continue;
        this.chunks.replace(no, writeAttempts(attempts.map(silenced), base, this.strings));
        if (consumer.attempts.no === no) consumer.attempts.end();
      }
    }
    return removed;
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

  /** The offset of the oldest message that a consumer has not done with. */
  oldestNeeded(consumer: Consumer): number {
    return Math.min(consumer.cursor + 1, consumer.retries.oldestOffset ?? Number.POSITIVE_INFINITY);
  }

  /** Chunks that end before an offset are gone: the ones being written are begun anew if they were among them. */
  chunksWereDropped(consumer: Consumer, end: number): void {
    for (const chunk of [consumer.outcomes, consumer.attempts]) {
      if (chunk.no !== undefined && chunk.max < end) chunk.end();
    }
  }

  /** Whether rows of removed consumers are left. */
  get hasWork(): boolean {
    return this.#removed.length > 0;
  }

  /** Deletes some rows of a removed consumer; tells about how many bytes that writes. Within a transaction. */
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
