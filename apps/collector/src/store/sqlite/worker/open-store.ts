import { randomBytes } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Call, Figures, Snapshot } from "../operations.js";
import type { WorkerOptions } from "../tuning.js";
import { clearTables } from "./clear-tables.js";
import { Compaction } from "./compaction.js";
import { ConsumerTables } from "./consumers.js";
import { CannotOpen, DATABASE_FILE, openDatabase, pageBytesOf } from "./database.js";
import { DeliveryList } from "./delivery-list.js";
import { Documents } from "./documents.js";
import { type HandledName, type Handlers, handlers } from "./handlers.js";
import { Log } from "./log.js";
import { MessageSearch } from "./message-search.js";
import { Refusal } from "./refusal.js";
import { Rejections } from "./rejections.js";
import { Retention } from "./retention.js";
import { RetryClock } from "./retry-clock.js";
import { Segments } from "./segments.js";
import { Usage } from "./usage.js";

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
  readonly #handlers: Handlers;
  /** About how much the write-ahead log has grown since it was last brought into the database. */
  #walBytes = 0;
  #databaseBytes = 0;
  readonly #totalChanges: StatementSync;
  #changesAtRest = 0;
  #shallRest = false;
  #compaction: Compaction | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#file = join(options.directory, DATABASE_FILE);
    const database = openDatabase(options.directory, options.tuning.synchronous);
    this.database = database;
    this.#totalChanges = database.prepare("SELECT total_changes() AS changes");
    try {
      this.#seed = seedOf(database);
      this.#usage = new Usage(database);
      this.#segments = new Segments(database, options);
      this.#log = new Log(database, this.#segments, this.#usage, options.tuning.rowBytes);
      this.#log.checkTail();
      this.#consumers = new ConsumerTables(database, this.#log, this.#usage);
      this.#retention = new Retention(database, options, this.#segments, this.#consumers);
      const deliveries = new DeliveryList(database, this.#consumers);
      this.#handlers = handlers({
        log: this.#log,
        segments: this.#segments,
        search: new MessageSearch(this.#log, this.#segments, this.#seed, this.#consumers, deliveries),
        consumers: this.#consumers,
        deliveries,
        documents: new Documents(database),
        rejections: new Rejections(database, options),
        retention: this.#retention,
        usage: this.#usage,
        retryClock: new RetryClock(database),
        rest: () => this.#rest(),
      });
      this.checkpoint();
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** Empties the log, and gives what takes this opening's place: all that it keeps in memory is of the past. */
  cleared(): OpenStore {
    clearTables(this.database, { segment: this.#segments.open.no, offset: this.#segments.end });
    this.database.close();
    return new OpenStore(this.#options);
  }

  get snapshot(): Snapshot {
    return { seed: this.#seed, sources: [...this.#log.sources], figures: this.figures };
  }

  get figures(): Figures {
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
    this.#consumers.flush();
    this.#usage.flush();
    this.database.exec("COMMIT");
    this.#walBytes += bytes;
  }

  call({ operation, request }: Call): unknown {
    // The types of a name's request and answer are joined in `Operations`; by name alone the compiler cannot tell.
    const handle = this.#handlers[operation as HandledName] as (request: unknown) => unknown;
    return handle(request);
  }

  /**
   * Called from time to time: a store to which nothing was written since the last time empties its write-ahead log. What is left of one
   * takes space on disk, and time at the next start.
   */
  #rest(): void {
    const { changes } = this.#totalChanges.get() as { changes: number };
    const file = `${this.#file}-wal`;
    this.#shallRest = changes === this.#changesAtRest && existsSync(file) && statSync(file).size > 0;
    this.#changesAtRest = changes;
  }

  get hasWork(): boolean {
    return (
      this.#segments.hasWork ||
      this.#consumers.hasWork ||
      this.#retention.hasWork ||
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
    if (this.#walBytes >= this.#options.tuning.checkpointBytes) this.checkpoint();
    else if (this.#segments.hasWork) this.commit(() => this.#segments.workNext());
    else if (this.#retention.hasWork) this.commit(() => this.#retention.workNext());
    else if (this.#consumers.hasWork) this.commit(() => this.#consumers.deleteNext());
    else if (this.#compaction !== undefined) {
      const compaction = this.#compaction;
      this.#compaction = undefined;
      if (!compaction.workNext()) this.#compaction = compaction;
    } else {
      this.#emptyLogFile();
      this.#shallRest = false;
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
