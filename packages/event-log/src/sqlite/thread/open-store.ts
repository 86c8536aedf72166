import { randomBytes } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ProfileCommit } from "../../ports/profiles.js";
import type { SnapshotInfo } from "../../ports/snapshots.js";
import type { Applied } from "../calls/applied.js";
import type { Call, CallAnswer, LogStats, Operations, Snapshot } from "../calls/operations.js";
import { Refusal } from "../calls/refusal.js";
import type { WorkerOptions } from "../calls/tuning.js";
import { ConsumerTables } from "../consumers/consumer-tables.js";
import { PurgedSinceTakeover } from "../consumers/purged-messages.js";
import { RetryClock } from "../consumers/retry-clock.js";
import { asRefusal, type DamageListener, isContained, isDamage } from "../database/damage.js";
import {
  asCannotOpen,
  CannotOpen,
  damagedDatabase,
  describe,
  isSqliteError,
  openDatabase,
  pageBytesOf,
} from "../database/database.js";
import { DATABASE_FILE } from "../database/database-name.js";
import { Documents } from "../database/documents.js";
import { MetaNumber } from "../database/meta-number.js";
import { SCHEMA_STEPS } from "../database/schema.js";
import { Segments, TRUSTED_TIME } from "../index/segments.js";
import { Log } from "../log/log.js";
import { Rejections } from "../log/rejections.js";
import { Usage } from "../log/usage.js";
import { openProfileFile, type ProfileFile } from "../profiles/profiles.js";
import { AppliedMark } from "../replica/applied-mark.js";
import type { CopyStore, FailedCall, Takeover } from "../replica/apply-entry.js";
import type { Part } from "../replica/entry.js";
import { withoutNulls } from "../replica/logged-profiles.js";
import { storeLoggedSettings, withLoggedSettings } from "../replica/settings.js";
import { Compaction } from "../retention/compaction.js";
import { Retention } from "../retention/retention.js";
import { DeliveryList } from "../search/delivery-list.js";
import { DeliveryScan } from "../search/delivery-scan.js";
import { MessageSearch } from "../search/message-search.js";
import { FileSnapshot } from "../snapshot/file-snapshot.js";
import { clearTables } from "./clear-tables.js";
import { type HandledName, type Handlers, handlers, type Preparers, preparers } from "./handlers.js";

/** About the pages that each entry of a replicated log changes. */
const PAGES_OF_ENTRY_BYTES = 64 * 1024;
const PAGE_OF_MARK_BYTES = 32 * 1024;

/** The page cache of a copy's profiles. */
const PROFILES_CACHE_KIB = 32_768;

/** Sizes in SQLite's write-ahead log file. */
const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/** One opening of the database, with everything cached from it. After a failure all of it is discarded. */
export class OpenStore implements CopyStore<OpenStore> {
  readonly database: DatabaseSync;
  readonly #file: string;
  readonly #options: WorkerOptions;
  readonly #seed: number;
  readonly #log: Log;
  readonly #segments: Segments;
  readonly #consumers: ConsumerTables;
  readonly #usage: Usage;
  /** Only in a copy of a replicated log. */
  readonly #appliedMark: AppliedMark | undefined;
  /** Of a copy. */
  readonly #purged: PurgedSinceTakeover | undefined;
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
  #changesAtRest = 0;
  #shallRest = false;
  #compaction: Compaction | undefined;
  readonly #damaged: DamageListener;
  readonly #background: readonly BackgroundWork[];
  /** Work that met damaged data. The next `rest` lets it try again. */
  readonly #resting = new Set<BackgroundWork>();

  /** `damaged` is called for damaged data that was skipped. */
  constructor(given: WorkerOptions, damaged: DamageListener) {
    this.#damaged = damaged;
    this.#file = join(given.directory, DATABASE_FILE);
    const database = openDatabase(given.directory, given.tuning.synchronous);
    this.database = database;
    this.#snapshot = new FileSnapshot(given.directory, DATABASE_FILE);
    this.#totalChanges = database.prepare("SELECT total_changes() AS changes");
    try {
      const options = given.isReplica === true ? withLoggedSettings(database, given) : given;
      this.#options = options;
      this.#appliedMark = given.isReplica === true ? new AppliedMark(database) : undefined;
      this.#seed = seedOf(database);
      this.#trustedMs = new MetaNumber(database, TRUSTED_TIME);
      this.#usage = new Usage(database, damaged);
      this.#segments = new Segments(database, options, damaged);
      this.#log = new Log(database, this.#segments, this.#usage, options.tuning.rowBytes);
      this.#log.checkTail();
      this.#purged = given.isReplica === true ? new PurgedSinceTakeover(database) : undefined;
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
        snapshot: {
          begin: () => this.#beginSnapshot(),
          read: (at, bytes) => this.#snapshot.read(at, bytes),
          end: () => this.#snapshot.end(),
        },
        rest: (nowMs) => this.#rest(nowMs),
      });
      this.checkpoint();
      this.#profiles = given.isReplica === true ? this.#openProfiles(given.directory) : undefined;
    } catch (error) {
      database.close();
      throw isSqliteError(error)
        ? asCannotOpen(error, given.directory)
        : damagedDatabase(given.directory, describe(error), error);
    }
  }

  /** Empties the log and returns the opening that replaces this one, whose caches are stale. */
  cleared(alsoWrite: () => void = () => {}): OpenStore {
    clearTables(this.database, { segment: this.#segments.open.no, offset: this.#segments.end }, alsoWrite);
    return this.reopened();
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
      return { applied: this.applied, store, profiles: this.profiles.beginSnapshot() };
    } catch (error) {
      this.#snapshot.end();
      throw error;
    }
  }

  /** The same database with nothing cached. This opening cannot be used any more. */
  reopened(): OpenStore {
    this.abandon();
    const opened = new OpenStore(this.#options, this.#damaged);
    opened.#documents.changes = this.#documents.changes + 1;
    return opened;
  }

  get snapshot(): Snapshot {
    const trustedMs = this.#trustedMs.value;
    return {
      seed: this.#seed,
      sources: [...this.#log.sources],
      stats: this.stats,
      ...(trustedMs === undefined ? {} : { trustedMs }),
      ...(this.#appliedMark === undefined ? {} : { applied: this.#appliedMark.value }),
      ...(this.#profiles === undefined ? {} : { profilesApplied: this.#profiles.applied }),
    };
  }

  get stats(): LogStats {
    return {
      head: this.#segments.end - 1,
      messages: this.#segments.messages,
      bytes: this.#databaseBytes + this.#walBytes,
      documentChanges: this.#documents.changes,
      ...(this.#retention.heldBack === undefined ? {} : { heldBack: this.#retention.heldBack }),
    };
  }

  /** Commits the work of `run`, which returns about how many bytes it wrote. Throws if the commit failed; then nothing is kept. */
  commit(run: () => number): void {
    this.database.exec("BEGIN IMMEDIATE");
    const bytes = run();
    this.#usage.flush();
    this.database.exec("COMMIT");
    this.#walBytes += bytes;
  }

  /**
   * Runs calls that write, in one commit of about `bytes`. A call that meets damaged data is refused, and the commit starts over without
   * it, because SQLite writes nothing more in a transaction in which it found damage. Appends cannot be undone in memory: they run last,
   * and a failed append fails the commit for all calls, as every failure of the disk does.
   */
  commitCalls(calls: readonly Call[], bytes: number): Answered[] {
    const inOrder = calls.map((call) => ({ call, prepared: this.#prepare(call) })).sort(byTurn);
    const refused = new Map<Call, Refusal>();
    for (;;) {
      const answers: Answered[] = [];
      this.database.exec("BEGIN IMMEDIATE");
      const met = this.#run(
        inOrder.filter(({ call }) => !refused.has(call)),
        answers,
      );
      if (met === undefined) {
        this.#usage.flush();
        this.database.exec("COMMIT");
        this.#retention.committed();
        this.#walBytes += bytes;
        for (const [call, refusal] of refused) answers.push({ kind: "refused", call, refusal });
        return answers;
      }
      this.database.exec("ROLLBACK");
      this.#usage.forget();
      this.#consumers.reload();
      this.#damaged(met.error);
      refused.set(met.call, asRefusal(met.error));
    }
  }

  get applied(): Applied {
    if (this.#appliedMark === undefined) throw new Error("the folder is no copy of a replicated log");
    return this.#appliedMark.value;
  }

  ignore(applied: Applied): void {
    this.commit(() => {
      this.#appliedMark?.move(applied);
      return PAGE_OF_MARK_BYTES;
    });
  }

  note(applied: Applied): void {
    this.commit(() => {
      this.#appliedMark?.set(applied);
      return PAGE_OF_MARK_BYTES;
    });
  }

  get parts(): readonly Uint8Array[] {
    return this.#appliedMark?.parts ?? [];
  }

  keepPart({ place, data }: Part, applied: Applied): void {
    this.commit(() => {
      this.#appliedMark?.addPart(place, data);
      this.#appliedMark?.move(applied);
      return data.byteLength + PAGE_OF_MARK_BYTES;
    });
  }

  takeOver({ seed, settings, profilesOfAnotherLog }: Takeover, applied: Applied): OpenStore {
    if (profilesOfAnotherLog !== undefined) this.profiles.leaveLog(profilesOfAnotherLog, applied);
    this.commit(() => {
      storeLoggedSettings(this.database, seed, settings);
      this.#purged?.forget();
      this.#appliedMark?.set(applied);
      return 2 * PAGE_OF_MARK_BYTES;
    });
    return this.reopened();
  }

  clear(applied: Applied): OpenStore {
    return this.cleared(() => {
      this.#purged?.forget();
      this.#appliedMark?.set(applied);
    });
  }

  finishSealing(): void {
    while (this.#segments.hasWork) this.commit(() => this.#segments.workNext());
  }

  commitEntry(calls: readonly Call[], applied: Applied): readonly CallAnswer[] | FailedCall {
    const inOrder = calls.map((call) => ({ call, prepared: this.#prepare(call) })).sort(byTurn);
    const answers = new Map<Call, CallAnswer>();
    this.database.exec("BEGIN IMMEDIATE");
    for (const { call, prepared } of inOrder) {
      try {
        answers.set(call, { kind: "done", answer: this.call(call, prepared) });
      } catch (error) {
        if (error instanceof Refusal) answers.set(call, refusedWith(error));
        else if (isDamage(error) || !isContained(error)) throw error;
        else {
          this.database.exec("ROLLBACK");
          return { failed: call.id, refusal: asRefusal(error) };
        }
      }
    }
    this.#usage.flush();
    this.#appliedMark?.set(applied);
    this.database.exec("COMMIT");
    this.#retention.committed();
    this.#walBytes += PAGES_OF_ENTRY_BYTES + bytesOf(calls);
    return calls.map((call) => answers.get(call) ?? { kind: "done", answer: undefined });
  }

  /** Runs calls within a transaction and stops at one that meets damaged data. Throws if the whole commit has to fail. */
  #run(calls: readonly PreparedCall[], answers: Answered[]): DamageMet | undefined {
    for (const { call, prepared } of calls) {
      try {
        answers.push({ kind: "done", call, answer: this.call(call, prepared) });
      } catch (error) {
        if (error instanceof Refusal) answers.push({ kind: "refused", call, refusal: error });
        else if (call.operation === "append" || !isContained(error) || !this.database.isTransaction)
          throw error;
        else return { call, error };
      }
    }
    return undefined;
  }

  /** Reads the optional data of a call before the transaction, where damage would prevent its writes. */
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
    if (!isUnchanged || this.#appliedMark !== undefined) this.#trustedMs.set(nowMs);
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
      this.#walBytes >= this.#options.tuning.checkpointBytes
    );
  }

  /**
   * Runs one step of background work, a few milliseconds long. Call it between commits until `hasWork` is false. Throws a `Refusal` if a
   * compaction fails.
   */
  work(): void {
    const next = this.#nextWork;
    if (this.#walBytes >= this.#options.tuning.checkpointBytes) this.checkpoint();
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
      if (error instanceof Refusal || !isContained(error)) throw error;
      if (this.database.isTransaction) this.database.exec("ROLLBACK");
      this.#damaged(error);
      throw asRefusal(error);
    }
  }

  #workOn(work: BackgroundWork): void {
    try {
      this.commit(() => work.step());
    } catch (error) {
      if (!isContained(error) || !this.database.isTransaction) throw error;
      this.database.exec("ROLLBACK");
      this.#damaged(error);
      if (work.onUndone() === "rests") this.#resting.add(work);
    }
  }

  /** Copies the write-ahead log into the database and syncs both. */
  checkpoint(): void {
    this.#snapshot.save();
    this.database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    this.#walBytes = 0;
    this.#databaseBytes = statSync(this.#file).size;
  }

  get isCompacting(): boolean {
    return this.#compaction !== undefined;
  }

  /** Starts or restarts a compaction. At its end the files hold no byte of deleted data. */
  beginCompaction(): void {
    this.#compaction = new Compaction(
      {
        database: this.database,
        commit: (run) => this.commit(run),
        checkpoint: () => this.checkpoint(),
        emptyLogFile: () => {
          if (!this.#emptyLogFile())
            throw new Refusal("storage_unavailable", "the write-ahead log could not be emptied");
        },
      },
      pageBytesOf(this.database),
    );
  }

  /** Returns false if a reader still uses the log. */
  #emptyLogFile(): boolean {
    this.#snapshot.save();
    const { busy } = this.database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() as { busy: number };
    this.#walBytes = 0;
    this.#databaseBytes = statSync(this.#file).size;
    return busy === 0;
  }

  /**
   * The length of the write-ahead log up to the last good commit. A commit whose sync failed leaves complete frames after it, which must
   * not become valid. Undefined if SQLite does not report it.
   */
  validLogBytes(): number | undefined {
    try {
      const row = this.database.prepare("PRAGMA wal_checkpoint(NOOP)").get() as { log: number } | undefined;
      if (row === undefined || row.log < 0) return undefined;
      return LOG_HEADER_BYTES + row.log * (FRAME_HEADER_BYTES + pageBytesOf(this.database));
    } catch {
      return undefined;
    }
  }

  /** Begins a snapshot of what is committed now. */
  #beginSnapshot(): SnapshotInfo {
    if (!this.#emptyLogFile())
      throw new Refusal("storage_unavailable", "the write-ahead log could not be emptied");
    const { page_count: pages } = this.database.prepare("PRAGMA page_count").get() as { page_count: number };
    const bytes = this.#snapshot.begin(pageBytesOf(this.database), pages);
    return { file: DATABASE_FILE, bytes, layout: SCHEMA_STEPS.length };
  }

  /** Closes the database as it is. */
  abandon(): void {
    // Closing copies the write-ahead log into the file.
    this.#snapshot.lose("the database was closed");
    this.#profiles?.abandon();
    this.database.close();
    this.#snapshot.close();
  }

  close(): void {
    this.abandon();
    if (existsSync(`${this.#file}-wal`)) {
      throw new CannotOpen("the write-ahead log could not be copied into the database", { final: false });
    }
  }
}

/** The result of a call that writes. */
export type Answered =
  | { readonly kind: "done"; readonly call: Call; readonly answer: unknown }
  | { readonly kind: "refused"; readonly call: Call; readonly refusal: Refusal };

function refusedWith({ code, message, current }: Refusal): CallAnswer {
  return { kind: "refused", code, detail: message, current };
}

function bytesOf(calls: readonly Call[]): number {
  return calls.reduce(
    (sum, { request }) => sum + ((request as { bodies?: Uint8Array }).bodies?.byteLength ?? 0),
    0,
  );
}

interface PreparedCall {
  readonly call: Call;
  readonly prepared: unknown;
}

interface DamageMet {
  readonly call: Call;
  readonly error: unknown;
}

/** Calls that can be run again come first, then `retain`, whose marks a later rollback would undo, then appends. */
function byTurn(a: PreparedCall, b: PreparedCall): number {
  const turnOf = ({ call: { operation } }: PreparedCall): number =>
    operation === "append" ? 2 : operation === "retain" ? 1 : 0;
  return turnOf(a) - turnOf(b);
}

/** Background work. Each step is a transaction. */
interface BackgroundWork {
  isWaiting(): boolean;
  /** Returns about how many bytes it wrote. */
  step(): number;
  /** Called after a step met damaged data and was undone. `goes on`: there is other work to do. */
  onUndone(): "goes on" | "rests";
}

/** The most urgent work first. */
function backgroundWork(
  segments: Segments,
  retention: Retention,
  consumers: ConsumerTables,
): BackgroundWork[] {
  return [
    {
      isWaiting: () => segments.hasWork,
      step: () => segments.workNext(),
      onUndone() {
        segments.sealAnew();
        return "rests";
      },
    },
    {
      isWaiting: () => retention.hasWork,
      step: () => retention.workNext(),
      onUndone() {
        retention.leaveCurrent();
        return "goes on";
      },
    },
    {
      isWaiting: () => consumers.hasWork,
      step: () => consumers.deleteNext(),
      onUndone: () => "rests",
    },
  ];
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
