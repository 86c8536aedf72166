import { randomBytes } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import { FileLog, removeLog, UnusableLog } from "../../file-log/file-log.js";
import type { ProfileCommit } from "../../ports/profiles.js";
import type { SnapshotInfo } from "../../ports/snapshots.js";
import type { Applied } from "../calls/applied.js";
import {
  type Call,
  type CallAnswer,
  DONE,
  type LogStats,
  type Operations,
  type Snapshot,
} from "../calls/operations.js";
import { Refusal, refusedWith } from "../calls/refusal.js";
import type { WorkerOptions } from "../calls/tuning.js";
import { ConsumerTables } from "../consumers/consumer-tables.js";
import { PurgedMessages } from "../consumers/purged-messages.js";
import { RetryClock } from "../consumers/retry-clock.js";
import {
  asRefusal,
  type DamageListener,
  isContained,
  isDamage,
  isOfSqlite,
  TransactionSpoiled,
} from "../database/damage.js";
import {
  asCannotOpen,
  CannotOpen,
  damagedDatabase,
  describe,
  isSqliteError,
  openDatabase,
  pageBytesOf,
} from "../database/database.js";
import { DATABASE_FILE } from "../database/database-files.js";
import { Documents } from "../database/documents.js";
import { MetaNumber } from "../database/meta-number.js";
import { SCHEMA_STEPS } from "../database/schema.js";
import { Segments, TRUSTED_TIME } from "../index/segments.js";
import { Log } from "../log/log.js";
import { Rejections } from "../log/rejections.js";
import { Usage } from "../log/usage.js";
import { openProfileFile, type ProfileFile } from "../profiles/profiles.js";
import { withoutNulls } from "../profiles/profiles-file.js";
import {
  AppliedMark,
  areLogged,
  settingsOf,
  storeLoggedSettings,
  withLoggedSettings,
} from "../replica/applied-mark.js";
import type { CopyStore, Takeover } from "../replica/apply-entry.js";
import type { LoggedCall } from "../replica/call-codec.js";
import { encodeCall } from "../replica/call-codec.js";
import { encodeEntry, type Part } from "../replica/entry.js";
import { Compaction } from "../retention/compaction.js";
import { Retention } from "../retention/retention.js";
import { DeliveryList } from "../search/delivery-list.js";
import { DeliveryScan } from "../search/delivery-scan.js";
import { MessageSearch } from "../search/message-search.js";
import { FileSnapshot } from "../snapshot/file-snapshot.js";
import { type BackgroundWork, backgroundWork } from "./background-work.js";
import { bringUp, damagedLog } from "./bring-up.js";
import { type HandledName, type Handlers, handlers, type Preparers, preparers } from "./handlers.js";
import type { Opening } from "./opening.js";
import { clearTables, Transaction } from "./transaction.js";

/** Entries are mostly of at most two megabytes. The room of a larger one is not kept. */
const MOST_ROOM_BYTES = 4 * 1024 * 1024;

/** About what an entry changes besides the bodies in it. */
const ENTRY_BYTES = 1024;

/** The page cache of a copy's profiles. */
const PROFILES_CACHE_KIB = 32_768;

/** One opening of the database, with everything cached from it. After a failure all of it is discarded. */
export class OpenStore implements CopyStore<OpenStore> {
  readonly database: DatabaseSync;
  readonly #file: string;
  readonly #given: WorkerOptions;
  readonly #opening: Opening;
  readonly #options: WorkerOptions;
  readonly #seed: number;
  readonly #transaction: Transaction;
  /** Absent in a copy, whose log is elsewhere. */
  readonly #entries: FileLog | undefined;
  readonly #log: Log;
  readonly #segments: Segments;
  readonly #consumers: ConsumerTables;
  readonly #usage: Usage;
  readonly #mark: AppliedMark;
  readonly #purged: PurgedMessages;
  /** Of a copy. */
  readonly #profiles: ProfileFile | undefined;
  readonly #retention: Retention;
  /** The last known trusted time. */
  readonly #trustedMs: MetaNumber;
  readonly #snapshot: FileSnapshot;
  readonly #documents: Documents;
  readonly #handlers: Handlers;
  readonly #preparers: Preparers;
  /** About how much the write-ahead log has grown since the last checkpoint. */
  #walBytes = 0;
  #databaseBytes = 0;
  readonly #totalChanges: StatementSync;
  #timeMs = 0;
  #changesAtRest = 0;
  #shallRest = false;
  #hasBegun = false;
  #entry = new Uint8Array(64 * 1024);
  #isClosed = false;
  #compaction: Compaction | undefined;
  readonly #damaged: DamageListener;
  readonly #background: readonly BackgroundWork[];
  /** Work that met damaged data. The next `rest` lets it try again. */
  readonly #resting = new Set<BackgroundWork>();

  /** Opens the database and brings it up to the end of its log. */
  static open(options: WorkerOptions, opening: Opening): OpenStore {
    const isCopy = options.isReplica === true;
    const store = new OpenStore(options, isCopy ? { ...opening, isCareful: true } : opening);
    if (store.#entries === undefined) return store;
    try {
      return bringUp(store, store.#entries, options.directory, opening);
    } catch (error) {
      store.abandon();
      throw isSqliteError(error) ? asCannotOpen(error, options.directory) : error;
    }
  }

  private constructor(given: WorkerOptions, opening: Opening) {
    const damaged: DamageListener = (error) => {
      if (this.#isSpoiledBy(error)) throw new TransactionSpoiled(error);
      opening.damaged(error);
    };
    this.#given = given;
    this.#opening = opening;
    this.#damaged = damaged;
    this.#file = join(given.directory, DATABASE_FILE);
    const database = openDatabase(given.directory);
    this.database = database;
    this.#snapshot = new FileSnapshot(given.directory, DATABASE_FILE);
    this.#totalChanges = database.prepare("SELECT total_changes() AS changes");
    try {
      const options = withLoggedSettings(database, given);
      this.#options = options;
      this.#mark = new AppliedMark(database);
      this.#transaction = new Transaction(database, this.#mark);
      this.#seed = seedOf(database);
      this.#trustedMs = new MetaNumber(database, TRUSTED_TIME);
      this.#usage = new Usage(database, damaged);
      this.#segments = new Segments(database, options, damaged);
      this.#log = new Log(database, this.#segments, this.#usage, options.tuning.rowBytes);
      this.#log.checkTail();
      this.#purged = new PurgedMessages(database);
      this.#consumers = new ConsumerTables(database, this.#log, this.#usage, damaged, this.#purged);
      this.#retention = new Retention(database, options, this.#segments, this.#consumers);
      this.#background = backgroundWork(this.#segments, this.#retention, this.#consumers);
      const deliveries = new DeliveryList(database, this.#consumers);
      const retryClock = new RetryClock(database, damaged);
      this.#preparers = preparers({ log: this.#log, consumers: this.#consumers, retryClock });
      this.#documents = new Documents(database);
      this.#handlers = handlers({
        log: this.#log,
        segments: this.#segments,
        search: new MessageSearch(this.#log, this.#segments, this.#seed, this.#consumers, deliveries),
        consumers: this.#consumers,
        deliveries,
        scan: new DeliveryScan(database, this.#consumers),
        documents: this.#documents,
        rejections: new Rejections(database, options, damaged),
        retention: this.#retention,
        usage: this.#usage,
        retryClock,
        profiles: () => this.profiles,
        snapshots: {
          begin: () => this.#beginSnapshot(),
          read: (at, bytes) => this.#snapshot.read(at, bytes),
          end: () => this.#snapshot.end(),
        },
        rest: (nowMs) => this.#rest(nowMs),
      });
      this.#checkpoint();
      if (given.isReplica === true) this.#profiles = this.#openProfiles(given.directory);
      else this.#entries = FileLog.open(given.directory, given.tuning.syncLog);
    } catch (error) {
      database.close();
      if (error instanceof UnusableLog) throw damagedLog(given.directory, error.message);
      throw isSqliteError(error)
        ? asCannotOpen(error, given.directory)
        : damagedDatabase(given.directory, describe(error), error);
    }
  }

  /** Empties the event log and returns the opening that replaces this one, whose caches are stale. */
  cleared(): OpenStore {
    const applied = this.nextApplied;
    this.commit();
    this.#append(applied, [{ operation: "clear", request: {} }]);
    return this.clear(applied);
  }

  clear(applied: Applied): OpenStore {
    clearTables(this.database, { segment: this.#segments.open.no, offset: this.#segments.end }, () => {
      this.#purged.forget();
      this.#mark.set(applied);
    });
    return this.reopened();
  }

  /** Whether this error makes the open transaction useless. The store then has to be `reopened`. */
  #isSpoiledBy(error: unknown): boolean {
    return !this.#opening.isCareful && isOfSqlite(error) && this.#transaction.isOpen;
  }

  /** Whether it has to be `reopened` because somebody read a damaged page; see `Opening.isCareful`. */
  isSpoiled(error: unknown): boolean {
    return error instanceof TransactionSpoiled || (isDamage(error) && this.#isSpoiledBy(error));
  }

  /** The profiles of a copy. A power cut may have cost them entries that the store has. */
  #openProfiles(directory: string): ProfileFile {
    const file = openProfileFile({ directory, cacheKib: PROFILES_CACHE_KIB });
    if (file.applied.sequence >= this.applied.profiles) return file;
    file.abandon();
    throw damagedDatabase(directory, "the profiles lack changes that the store has");
  }

  get profiles(): ProfileFile {
    if (this.#profiles === undefined) throw new Error("the folder is no copy of a replicated log");
    return this.#profiles;
  }

  commitProfiles(changes: readonly ProfileCommit[], applied: Applied): ReadonlyMap<ProfileCommit, unknown> {
    if (this.profiles.applied.sequence >= applied.sequence) return new Map();
    return this.profiles.commitEntry(changes.map(withoutNulls), applied);
  }

  compactProfiles(): void {
    this.profiles.compact();
  }

  beginCopySnapshot(): Operations["beginCopySnapshot"]["answer"] {
    const store = this.#beginSnapshot();
    try {
      return { applied: this.applied, store, profiles: this.profiles.snapshots.begin() };
    } catch (error) {
      this.#snapshot.end();
      throw error;
    }
  }

  /** The same database with nothing cached. This opening cannot be used any more. */
  reopened(isCareful = this.#opening.isCareful): OpenStore {
    this.abandon();
    const isFirst = this.#opening.isFirst && !this.#hasBegun;
    return OpenStore.open(this.#given, { ...this.#opening, isFirst, isCareful });
  }

  get sources(): ReadonlyMap<number, string> {
    return this.#log.sources;
  }

  get snapshot(): Omit<Snapshot, "shared"> {
    const trustedMs = this.#trustedMs.value;
    return {
      seed: this.#seed,
      sources: [...this.#log.sources],
      stats: this.stats,
      ...(trustedMs === undefined ? {} : { trustedMs }),
      applied: this.applied,
    };
  }

  get stats(): LogStats {
    return {
      head: this.#segments.end - 1,
      messages: this.#segments.messages,
      bytes: this.#databaseBytes + this.#walBytes + (this.#entries?.bytes ?? 0),
      ...(this.#retention.heldBack === undefined ? {} : { heldBack: this.#retention.heldBack }),
    };
  }

  /** Writes to the database. `run` returns about how many bytes it wrote. `applied`: it is an entry. If it throws, call `#undo`. */
  write(run: () => number, applied?: Applied): void {
    this.#transaction.begin();
    const bytes = run();
    this.#usage.flush();
    this.#transaction.wrote(bytes, applied);
    if (this.#opening.isCareful) this.commit();
  }

  /** Commits what is in the open transaction. All of it is in the log. */
  commit(): void {
    const before = this.#changes;
    this.#walBytes += this.#transaction.commit();
    this.#changesAtRest += this.#changes - before;
  }

  /** Whether to call `commit`. */
  get isCommitDue(): boolean {
    return this.#transaction.isOpen && (this.#opening.isCareful || this.#transaction.isDue);
  }

  /**
   * Undoes what was written since the last commit. What is cached of appends cannot be undone: they run last in an entry, and a failed one
   * ends the use of the database.
   */
  #undo(): void {
    this.#transaction.rollback();
    this.#usage.forget();
    this.#consumers.reload();
  }

  get applied(): Applied {
    return this.#transaction.applied;
  }

  get nextApplied(): Applied {
    const { sequence, number } = this.applied;
    return { ...this.applied, sequence: sequence + 1, number: number + 1 };
  }

  /**
   * Runs calls that write, as one entry of the log, which is synced when this returns. A call that meets damaged data is refused, and the
   * entry is made without it. Throws if the store has to be reopened (`isSpoiled`) or cannot be used any more.
   */
  commitCalls(given: readonly Call[]): readonly CallAnswer[] {
    const calls = given.map((call) => this.#withChoice(call));
    const applied = this.nextApplied;
    const nextOffset = this.#segments.end;
    let data = this.#entry;
    let changes = 0;
    const answers = this.#run(calls, (left) => {
      // Before the calls run: handlers change the arrays of a request.
      data = encodeEntry(applied, left.map(encodeCall), (bytes) => this.#roomFor(bytes));
      changes = this.#changes;
    });
    if (this.#changes !== changes) {
      this.#entries?.append({ ...applied, nextOffset, atMs: this.#timeOf(calls), data });
      this.#transaction.wrote(ENTRY_BYTES + data.byteLength, applied);
    }
    this.#retention.committed();
    return answers;
  }

  /** The entry that is written next: a new array for each would cost more than everything else that is done with its bytes. */
  #roomFor(bytes: number): Uint8Array<ArrayBuffer> {
    if (bytes > MOST_ROOM_BYTES) return new Uint8Array(bytes);
    if (bytes > this.#entry.byteLength) this.#entry = new Uint8Array(Math.min(2 * bytes, MOST_ROOM_BYTES));
    return this.#entry.subarray(0, bytes);
  }

  /** The segments to drop depend on how far the background work is, so the log says which. */
  #withChoice(call: Call): Call {
    if (call.operation !== "retain") return call;
    const { nowMs } = call.request as Operations["retain"]["request"];
    const segments = this.#retention.chooseDropped(nowMs).map(({ no }) => no);
    return { ...call, request: { nowMs, segments } };
  }

  #append(applied: Applied, calls: readonly LoggedCall[]): void {
    const data = encodeEntry(applied, calls.map(encodeCall));
    this.#entries?.append({ ...applied, nextOffset: this.#segments.end, atMs: this.#timeOf(calls), data });
  }

  /** About now, for people. */
  #timeOf(calls: readonly LoggedCall[]): number {
    for (const { request } of calls) {
      const { trustedMs } = request as { trustedMs?: number };
      if (trustedMs !== undefined) this.#timeMs = trustedMs;
    }
    return this.#timeMs;
  }

  /** For a repair: the entries before this one, and with them the messages up to this offset, are lost. */
  leaveOut(sequence: number, nextOffset: number): void {
    const { applied } = this;
    const passed = {
      ...applied,
      sequence: sequence - 1,
      number: applied.number + sequence - 1 - applied.sequence,
    };
    this.write(() => {
      const { end } = this.#segments;
      if (nextOffset > end) this.#log.leaveOut(end, nextOffset, this.#timeMs);
      return 0;
    }, passed);
  }

  ignore(applied: Applied): void {
    this.write(() => 0, applied);
  }

  note(applied: Applied): void {
    this.write(() => {
      this.#mark.dropParts();
      return 0;
    }, applied);
  }

  get parts(): readonly Uint8Array[] {
    return this.#mark.parts;
  }

  keepPart({ place, data }: Part, applied: Applied): void {
    this.write(() => {
      this.#mark.addPart(place, data);
      return data.byteLength;
    }, applied);
  }

  takeOver({ seed, settings }: Takeover, applied: Applied): OpenStore {
    this.write(() => {
      storeLoggedSettings(this.database, seed, settings);
      this.#purged.forget();
      this.#mark.dropParts();
      return 0;
    }, applied);
    return this.reopened();
  }

  finishSealing(): void {
    while (this.#segments.hasWork) this.write(() => this.#segments.workNext());
  }

  commitEntry(calls: readonly Call[], applied: Applied): readonly CallAnswer[] {
    const answers = this.#run(calls);
    this.#mark.dropParts();
    this.#transaction.wrote(ENTRY_BYTES + bytesOf(calls), applied);
    if (this.#opening.isCareful) this.commit();
    this.#retention.committed();
    return answers;
  }

  /**
   * Runs calls that write, and again without each that met damaged data or a mistake. `beforeTry` gets the calls in the order in which they
   * run. Throws if the disk failed.
   */
  #run(calls: readonly Call[], beforeTry?: (calls: readonly Call[]) => void): CallAnswer[] {
    const refused = new Map<number, CallAnswer>();
    for (;;) {
      const left = inTurn(calls.filter(({ id }) => !refused.has(id)));
      beforeTry?.(left);
      const answers = this.#try(left);
      if (!("failed" in answers)) return calls.map(({ id }) => refused.get(id) ?? answers.get(id) ?? DONE);
      // The transaction has other entries, which are answered.
      if (!this.#opening.isCareful) throw new TransactionSpoiled(answers.refusal);
      this.#undo();
      refused.set(answers.failed, refusedWith(answers.refusal));
    }
  }

  #try(calls: readonly Call[]): ReadonlyMap<number, CallAnswer> | FailedCall {
    const prepared = calls.map((call) => this.#prepare(call));
    const answers = new Map<number, CallAnswer>();
    this.#transaction.begin();
    for (const [turn, call] of calls.entries()) {
      try {
        answers.set(call.id, { kind: "done", answer: this.call(call, prepared[turn]) });
      } catch (error) {
        if (error instanceof Refusal) answers.set(call.id, refusedWith(error));
        else if (call.operation === "append" || !this.#isOfOneCall(error)) throw error;
        else {
          this.#damaged(error);
          return { failed: call.id, refusal: asRefusal(error) };
        }
      }
    }
    this.#usage.flush();
    return answers;
  }

  /** Whether the others can go on without the call. A damaged copy is replaced: it would not do what the others do. */
  #isOfOneCall(error: unknown): boolean {
    const isCopy = this.#entries === undefined;
    return isContained(error) && this.#transaction.isOpen && !(isCopy && isDamage(error));
  }

  /** Reads the optional data of a call before its transaction, where damage would prevent its writes. */
  #prepare({ operation, request }: Call): unknown {
    const prepare = (this.#preparers as Partial<Record<string, (request: unknown) => unknown>>)[operation];
    return prepare?.(request);
  }

  call({ operation, request }: Call, prepared?: unknown): unknown {
    // `Operations` ties request and answer to the name, but the compiler cannot follow that here.
    const handle = this.#handlers[operation as HandledName] as (
      request: unknown,
      prepared: unknown,
    ) => unknown;
    return handle(request, prepared);
  }

  /**
   * Called from time to time, within a transaction. If nothing was written since the last call, empties the write-ahead log, which would
   * take space on disk and time at the next start. Otherwise stores the trusted time.
   */
  #rest(nowMs: number): void {
    this.#resting.clear();
    const file = `${this.#file}-wal`;
    const isUnchanged = this.#changes === this.#changesAtRest;
    this.#shallRest = isUnchanged && existsSync(file) && statSync(file).size > 0;
    // In every copy of a replicated log alike, whatever its background work wrote.
    if (!isUnchanged || this.#entries === undefined) this.#trustedMs.set(nowMs);
    this.#changesAtRest = this.#changes;
  }

  get #changes(): number {
    return (this.#totalChanges.get() as { changes: number }).changes;
  }

  get #nextWork(): BackgroundWork | undefined {
    return this.#background.find((work) => work.isWaiting() && !this.#resting.has(work));
  }

  get hasWork(): boolean {
    return (
      this.#nextWork !== undefined ||
      this.#shallRest ||
      this.#compaction !== undefined ||
      this.#isCheckpointDue
    );
  }

  get #isCheckpointDue(): boolean {
    const { checkpointBytes } = this.#options.tuning;
    return this.#walBytes >= checkpointBytes || (this.#entries?.bytes ?? 0) >= 2 * checkpointBytes;
  }

  /**
   * Runs one step of background work, a few milliseconds long. Call it between commits until `hasWork` is false. Throws a `Refusal` if a
   * compaction fails.
   */
  work(): void {
    const next = this.#nextWork;
    if (this.#isCheckpointDue) this.checkpoint();
    else if (next !== undefined) this.#workOn(next);
    else if (this.#compaction !== undefined) this.#compactNext(this.#compaction);
    else {
      this.#emptyLogFile();
      this.#shallRest = false;
    }
  }

  /** Damaged data ends the compaction, but not the use of the database. */
  #compactNext(compaction: Compaction): void {
    this.#compaction = undefined;
    try {
      if (!compaction.workNext()) this.#compaction = compaction;
    } catch (error) {
      if (error instanceof Refusal || error instanceof TransactionSpoiled || !isContained(error)) throw error;
      this.#undoStep(error);
      throw asRefusal(error);
    }
  }

  /** After a step of background work that met damaged data. */
  #undoStep(error: unknown): void {
    if (!this.#opening.isCareful && this.#transaction.isOpen) throw new TransactionSpoiled(error);
    if (this.#transaction.isOpen) this.#undo();
    this.#damaged(error);
  }

  #workOn(work: BackgroundWork): void {
    try {
      this.write(() => work.step());
    } catch (error) {
      if (error instanceof TransactionSpoiled || !isContained(error) || !this.#transaction.isOpen)
        throw error;
      this.#undoStep(error);
      if (work.onUndone() === "rests") this.#resting.add(work);
    }
  }

  /** Commits, and copies the write-ahead log into the database, synced. Then the database has everything that the log of entries has. */
  checkpoint(): void {
    this.commit();
    if (this.#checkpoint()) this.#entries?.restart();
  }

  /** Returns false if a reader still uses the write-ahead log. */
  #checkpoint(mode: "PASSIVE" | "TRUNCATE" = "PASSIVE"): boolean {
    this.#snapshot.save();
    const row = this.database.prepare(`PRAGMA wal_checkpoint(${mode})`).get() as unknown as Checkpointed;
    this.#walBytes = 0;
    this.#databaseBytes = statSync(this.#file).size;
    return row.busy === 0 && row.log === row.checkpointed;
  }

  get isCompacting(): boolean {
    return this.#compaction !== undefined;
  }

  /** Starts or restarts a compaction. At its end the files hold no byte of deleted data. */
  beginCompaction(): void {
    this.#compaction = new Compaction(
      {
        database: this.database,
        commit: (run) => this.write(run),
        checkpoint: () => this.checkpoint(),
        emptyLogFile: () => {
          if (!this.#emptyLogFile())
            throw new Refusal("storage_unavailable", "the write-ahead log could not be emptied");
          this.#entries?.empty();
        },
      },
      pageBytesOf(this.database),
    );
  }

  /** Returns false if a reader still uses the write-ahead log. */
  #emptyLogFile(): boolean {
    this.commit();
    if (!this.#checkpoint("TRUNCATE")) return false;
    this.#entries?.restart();
    return true;
  }

  /** Begins a snapshot of what is committed now. */
  #beginSnapshot(): SnapshotInfo {
    if (!this.#emptyLogFile())
      throw new Refusal("storage_unavailable", "the write-ahead log could not be emptied");
    const { page_count: pages } = this.database.prepare("PRAGMA page_count").get() as { page_count: number };
    const bytes = this.#snapshot.begin(pageBytesOf(this.database), pages);
    return { file: DATABASE_FILE, bytes, layout: SCHEMA_STEPS.length };
  }

  /** Closes the database as it is. What was not committed is in the log. */
  abandon(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // Closing copies the write-ahead log into the file.
    this.#snapshot.lose("the database was closed");
    this.#profiles?.abandon();
    this.#entries?.close();
    this.database.close();
    this.#snapshot.close();
  }

  close(): void {
    this.commit();
    this.abandon();
    if (existsSync(`${this.#file}-wal`)) {
      throw new CannotOpen("the write-ahead log could not be copied into the database");
    }
    // The database has everything, and is synced.
    if (this.#entries !== undefined) removeLog(this.#given.directory);
  }

  /** After the log was applied: stores the settings, which decide what the next entries do. Returns the store that follows them. */
  begin(): OpenStore {
    this.#hasBegun = true;
    const settings = settingsOf(this.#given);
    // Nothing that an earlier process had under way can still arrive.
    const forgets = this.#opening.isFirst && !this.#purged.isEmpty;
    const stores = !areLogged(this.database, settings);
    if (!forgets && !stores) return this;
    this.write(() => {
      if (forgets) this.#purged.forget();
      if (stores) storeLoggedSettings(this.database, this.#seed, settings);
      return 0;
    });
    this.checkpoint();
    return isDeepStrictEqual(settings, settingsOf(this.#options)) ? this : this.reopened();
  }
}

/** The answer of SQLite to a checkpoint. */
interface Checkpointed {
  readonly busy: number;
  /** Frames in the write-ahead log, and how many of them were copied. */
  readonly log: number;
  readonly checkpointed: number;
}

function bytesOf(calls: readonly Call[]): number {
  return calls.reduce(
    (sum, { request }) => sum + ((request as { bodies?: Uint8Array }).bodies?.byteLength ?? 0),
    0,
  );
}

/** Calls that can be run again come first, then `retain`, whose marks a later rollback would undo, then appends. */
function inTurn(calls: readonly Call[]): Call[] {
  const turnOf = ({ operation }: Call): number =>
    operation === "append" ? 2 : operation === "retain" ? 1 : 0;
  return [...calls].sort((a, b) => turnOf(a) - turnOf(b));
}

/** A call without which the others are to be run again. */
interface FailedCall {
  readonly failed: number;
  readonly refusal: Refusal;
}

/** The seed for the hashes of keys, chosen at random when the folder is created. */
function seedOf(database: DatabaseSync): number {
  const row = database.prepare("SELECT value FROM meta WHERE name = 'seed'").get() as
    | { value: number }
    | undefined;
  if (row !== undefined) return row.value;
  const seed = randomBytes(4).readInt32LE();
  database.prepare("INSERT INTO meta (name, value) VALUES ('seed', ?)").run(seed);
  return seed;
}
