import { randomBytes } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Call, LogStats, Snapshot } from "../calls/operations.js";
import { Refusal } from "../calls/refusal.js";
import type { WorkerOptions } from "../calls/tuning.js";
import { ConsumerTables } from "../consumers/consumer-tables.js";
import { RetryClock } from "../consumers/retry-clock.js";
import { asRefusal, type DamageListener, isContained } from "../database/damage.js";
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
import { Segments, TRUSTED_TIME } from "../index/segments.js";
import { Log } from "../log/log.js";
import { Rejections } from "../log/rejections.js";
import { Usage } from "../log/usage.js";
import { Compaction } from "../retention/compaction.js";
import { Retention } from "../retention/retention.js";
import { DeliveryList } from "../search/delivery-list.js";
import { MessageSearch } from "../search/message-search.js";
import { clearTables } from "./clear-tables.js";
import { type HandledName, type Handlers, handlers, type Preparers, preparers } from "./handlers.js";

/** Of SQLite's write-ahead log file. */
const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/** One opening of the database, with all that is kept in memory of it. After a failure it is thrown away whole. */
export class OpenStore {
  readonly database: DatabaseSync;
  readonly #file: string;
  readonly #options: WorkerOptions;
  readonly #seed: number;
  readonly #log: Log;
  readonly #segments: Segments;
  readonly #consumers: ConsumerTables;
  readonly #usage: Usage;
  readonly #retention: Retention;
  /** The last trusted time that is known. */
  readonly #trustedMs: MetaNumber;
  readonly #handlers: Handlers;
  readonly #preparers: Preparers;
  /** About how much the write-ahead log has grown since it was last brought into the database. */
  #walBytes = 0;
  #databaseBytes = 0;
  readonly #totalChanges: StatementSync;
  #changesAtRest = 0;
  #shallRest = false;
  #compaction: Compaction | undefined;
  readonly #damaged: DamageListener;
  readonly #background: readonly BackgroundWork[];
  /** Work that met damaged data: it is tried again when the store is next looked after. */
  readonly #resting = new Set<BackgroundWork>();

  /** `damaged` is told of damaged data that was met and gone around. */
  constructor(options: WorkerOptions, damaged: DamageListener) {
    this.#options = options;
    this.#damaged = damaged;
    this.#file = join(options.directory, DATABASE_FILE);
    const database = openDatabase(options.directory, options.tuning.synchronous);
    this.database = database;
    this.#totalChanges = database.prepare("SELECT total_changes() AS changes");
    try {
      this.#seed = seedOf(database);
      this.#trustedMs = new MetaNumber(database, TRUSTED_TIME);
      this.#usage = new Usage(database, damaged);
      this.#segments = new Segments(database, options, damaged);
      this.#log = new Log(database, this.#segments, this.#usage, options.tuning.rowBytes);
      this.#log.checkTail();
      this.#consumers = new ConsumerTables(database, this.#log, this.#usage, damaged);
      this.#retention = new Retention(database, options, this.#segments, this.#consumers);
      this.#background = backgroundWork(this.#segments, this.#retention, this.#consumers);
      const deliveries = new DeliveryList(database, this.#consumers);
      const retryClock = new RetryClock(database, damaged);
      this.#preparers = preparers({ log: this.#log, consumers: this.#consumers, retryClock });
      this.#handlers = handlers({
        log: this.#log,
        segments: this.#segments,
        search: new MessageSearch(this.#log, this.#segments, this.#seed, this.#consumers, deliveries),
        consumers: this.#consumers,
        deliveries,
        documents: new Documents(database),
        rejections: new Rejections(database, options, damaged),
        retention: this.#retention,
        usage: this.#usage,
        retryClock,
        rest: (nowMs) => this.#rest(nowMs),
      });
      this.checkpoint();
    } catch (error) {
      database.close();
      throw isSqliteError(error)
        ? asCannotOpen(error, options.directory)
        : damagedDatabase(options.directory, describe(error), error);
    }
  }

  /** Empties the log, and gives what takes this opening's place: all that it keeps in memory is of the past. */
  cleared(): OpenStore {
    clearTables(this.database, { segment: this.#segments.open.no, offset: this.#segments.end });
    this.database.close();
    return new OpenStore(this.#options, this.#damaged);
  }

  get snapshot(): Snapshot {
    const trustedMs = this.#trustedMs.value;
    return {
      seed: this.#seed,
      sources: [...this.#log.sources],
      stats: this.stats,
      ...(trustedMs === undefined ? {} : { trustedMs }),
    };
  }

  get stats(): LogStats {
    return {
      head: this.#segments.end - 1,
      messages: this.#segments.messages,
      bytes: this.#databaseBytes + this.#walBytes,
      ...(this.#retention.heldBack === undefined ? {} : { heldBack: this.#retention.heldBack }),
    };
  }

  /**
   * Runs what is to be committed together, which tells about how many bytes it has written. Throws where the commit failed: nothing
   * of it is kept then.
   */
  commit(run: () => number): void {
    this.database.exec("BEGIN IMMEDIATE");
    const bytes = run();
    this.#usage.flush();
    this.database.exec("COMMIT");
    this.#walBytes += bytes;
  }

  /**
   * Answers calls that write, in one commit of about so many bytes. A call that meets damaged data is refused and the others go on: SQLite
   * writes nothing more in a transaction in which it has found damage, so it begins again without that call. What was appended cannot be
   * undone in memory: appends come last, and a failure of one ends the commit for all, as every failure of the disk does.
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

  /** Runs calls within a transaction, up to one that meets damaged data. Throws what the whole commit fails with. */
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

  /** What a call reads and can do without, before the transaction in which damage would be in the way of its writes. */
  #prepare({ operation, request }: Call): unknown {
    const prepare = (this.#preparers as Partial<Record<string, (request: unknown) => unknown>>)[operation];
    return prepare?.(request);
  }

  call({ operation, request }: Call, prepared?: unknown): unknown {
    // The types of a name's request and answer are joined in `Operations`; by name alone the compiler cannot tell.
    const handle = this.#handlers[operation as HandledName] as (
      request: unknown,
      prepared: unknown,
    ) => unknown;
    return handle(request, prepared);
  }

  /**
   * Called from time to time: a store to which nothing was written since the last time empties its write-ahead log. What is left of one
   * takes space on disk, and time at the next start. Else it remembers how late it is. Within a transaction.
   */
  #rest(nowMs: number): void {
    this.#resting.clear();
    const file = `${this.#file}-wal`;
    const isUnchanged = this.#changes === this.#changesAtRest;
    this.#shallRest = isUnchanged && existsSync(file) && statSync(file).size > 0;
    if (!isUnchanged) this.#trustedMs.set(nowMs);
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
   * One step of what may wait, a few milliseconds long: it is called between commits until `hasWork` is false. Throws a `Refusal`
   * where a compaction ends without success.
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

  /** A step that meets damaged data ends the compaction, not the store. */
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

  /** Brings the write-ahead log into the database, both synced. */
  checkpoint(): void {
    this.database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    this.#walBytes = 0;
    this.#databaseBytes = statSync(this.#file).size;
  }

  get isCompacting(): boolean {
    return this.#compaction !== undefined;
  }

  /** Begins, or begins anew, the steps after which no byte of what was deleted is left in the files. */
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

  /** False where somebody is reading it. */
  #emptyLogFile(): boolean {
    const { busy } = this.database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() as { busy: number };
    this.#walBytes = 0;
    this.#databaseBytes = statSync(this.#file).size;
    return busy === 0;
  }

  /**
   * The length of the write-ahead log up to its last good commit, as this opening knows it: a commit whose sync failed
   * leaves whole frames behind it that must not come back. Undefined where SQLite does not say.
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

  close(): void {
    this.database.close();
    if (existsSync(`${this.#file}-wal`)) {
      throw new CannotOpen("the write-ahead log could not be brought into the database", { final: false });
    }
  }
}

/** What came of a call that writes. */
export type Answered =
  | { readonly kind: "done"; readonly call: Call; readonly answer: unknown }
  | { readonly kind: "refused"; readonly call: Call; readonly refusal: Refusal };

interface PreparedCall {
  readonly call: Call;
  readonly prepared: unknown;
}

interface DamageMet {
  readonly call: Call;
  readonly error: unknown;
}

/** What can be run again comes first; what is appended cannot. What is marked stays marked only where nothing is undone after it. */
function byTurn(a: PreparedCall, b: PreparedCall): number {
  const turnOf = ({ call: { operation } }: PreparedCall): number =>
    operation === "append" ? 2 : operation === "retain" ? 1 : 0;
  return turnOf(a) - turnOf(b);
}

/** Work in steps that may wait, each a transaction. */
interface BackgroundWork {
  isWaiting(): boolean;
  /** Tells about how many bytes it has written. */
  step(): number;
  /** The last step met damaged data, and was undone: whether there is other work to go on with. */
  onUndone(): "goes on" | "rests";
}

/** By urgency. */
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

/** The store's own seed for the hashes of its keys, drawn when the folder was made. */
function seedOf(database: DatabaseSync): number {
  const row = database.prepare("SELECT value FROM meta WHERE name = 'seed'").get() as
    | { value: number }
    | undefined;
  if (row !== undefined) return row.value;
  const seed = randomBytes(4).readInt32LE();
  database.prepare("INSERT INTO meta (name, value) VALUES ('seed', ?)").run(seed);
  return seed;
}
