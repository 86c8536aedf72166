import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { BEFORE_FIRST, type Offset } from "../../message/batch.js";
import type { Page, PageRequest } from "../../ports/documents.js";
import { StorageUnavailable, StoreError } from "../../ports/errors.js";
import type {
  MemberRecord,
  PendingMessage,
  ProfileCommit,
  ProfileRecord,
  ProfileStore,
} from "../../ports/profiles.js";
import type { SnapshotInfo, Snapshots } from "../../ports/snapshots.js";
import { readPosition, writePosition } from "../../rules/page-cursor.js";
import type { Applied } from "../calls/applied.js";
import { type Answering, passedOn } from "../calls/passed-on.js";
import { Refusal } from "../calls/refusal.js";
import { isContained, isDamage } from "../database/damage.js";
import { describe, isDamagedFile, makeOwnerOnly, pageBytesOf } from "../database/database.js";
import { AppliedMark } from "../replica/applied-mark.js";
import { FileSnapshot } from "../snapshot/file-snapshot.js";
import { areProfilesSound, PROFILES_FILE, setProfilesAside } from "./profiles-file.js";

export interface SqliteProfileStoreOptions {
  /** The data folder. */
  readonly directory: string;
  /** Pages kept in memory, in KiB. Default: 32,768 (32 MiB). */
  readonly cacheKib?: number;
  /**
   * Called when the file was damaged and has been renamed. If that happens at opening, a new file takes its place. If it happens later,
   * every call fails until the store is opened again, because the new file lacks what the caller remembers.
   */
  readonly onSetAside?: (keptAs: string, when: "opening" | "later") => void;
}

export interface SqliteProfileStore extends ProfileStore {
  readonly snapshots: Snapshots;
  /** Reads the whole file and sets it aside if it is damaged. Call it when the data is inconsistent. */
  checkWhole(): Promise<void>;
}

const SCHEMA = `
  CREATE TABLE profiles (number INTEGER PRIMARY KEY, due INTEGER, body TEXT NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL) STRICT;
  CREATE INDEX profiles_due ON profiles (due) WHERE due IS NOT NULL;
  CREATE TABLE identities (identity TEXT PRIMARY KEY, profile INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE members (definition TEXT, profile INTEGER, since INTEGER NOT NULL, PRIMARY KEY (definition, profile))
    STRICT, WITHOUT ROWID;
  CREATE TABLE held (definition TEXT, profile INTEGER, PRIMARY KEY (definition, profile)) STRICT, WITHOUT ROWID;
  CREATE TABLE owed (seq INTEGER PRIMARY KEY, profile INTEGER NOT NULL, destinations TEXT NOT NULL, message TEXT NOT NULL)
    STRICT;
  CREATE TABLE documents (name TEXT PRIMARY KEY, json TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE progress (only INTEGER PRIMARY KEY CHECK (only = 1), cursor INTEGER NOT NULL) STRICT;
`;
export const PROFILES_LAYOUT = 1;
/** Growth of the write-ahead log after which a checkpoint runs, in pages. */
const LOG_PAGES = 4096;
/** The store's own lock keeps other processes out. Who still holds this file is ending: a thread, or a process that was killed. */
const RELEASE_MS = 2_000;

/**
 * Profiles in a SQLite file of the data folder. Runs on the thread that opens it: the thread of the audiences engine.
 *
 * Only commits that put messages into the outbox are synced (`synchronous`). Other commits may be lost in a power cut; the engine then
 * reads those messages from the log again. After a failed write the file is reopened, because SQLite's view of it may be wrong.
 */
export function openSqliteProfileStore(options: SqliteProfileStoreOptions): SqliteProfileStore {
  const handle = new FileHandle(options);
  const use: FileHandle["use"] = (work) => handle.use(work);
  // The operation's name ends with the method's, but the compiler cannot follow that here.
  const methodOf = (of: object, operation: string) =>
    Reflect.get(of, operation.slice(operation.indexOf(".") + 1)) as (...args: readonly unknown[]) => unknown;
  return {
    ...passedOn("profiles", (operation, args) => use((file) => methodOf(file, operation).apply(file, args))),
    commit: (change) => use((file) => file.commit(change)),
    compact: () => use((file) => file.compact()),
    checkWhole: () => use((file) => file.checkWhole()),
    snapshots: passedOn("profileSnapshots", (operation, args) =>
      use(({ snapshots }) => methodOf(snapshots, operation).apply(snapshots, args)),
    ),
    close: async () => handle.close(),
  };
}

/**
 * - `open`: entered at construction, and from `broken`. Left to `broken` or `set aside` when a call fails, or by `close`.
 * - `broken`: a call failed and the file was closed. The next call reopens it.
 * - `set aside`: the file was damaged and has been renamed; see `onSetAside`. Every call fails. Left only by `close`.
 * - `closed`: final.
 */
type State =
  | { readonly kind: "open"; readonly file: ProfileFile }
  | { readonly kind: "broken" }
  | { readonly kind: "set aside"; readonly reason: string }
  | { readonly kind: "closed" };

/** Owns the open file: reopens it after a failure, and sets it aside if it is damaged. */
class FileHandle {
  readonly #options: SqliteProfileStoreOptions;
  #state: State;

  constructor(options: SqliteProfileStoreOptions) {
    this.#options = options;
    this.#state = { kind: "open", file: openSound(options) };
  }

  /** Runs `work` on the open file. Rejects with `StorageUnavailable`. */
  async use<Result>(work: (file: ProfileFile) => Result): Promise<Result> {
    if (this.#state.kind === "closed") throw new StorageUnavailable("the profiles are closed");
    if (this.#state.kind === "set aside") throw new StorageUnavailable(this.#state.reason);
    try {
      return work(this.#state.kind === "open" ? this.#state.file : this.#reopen());
    } catch (error) {
      if (error instanceof Refusal) throw new StoreError(error.code, error.message);
      this.#failed(error);
      throw new StorageUnavailable(describe(error), error);
    }
  }

  close(): void {
    if (this.#state.kind === "open") this.#state.file.close();
    this.#setState({ kind: "closed" });
  }

  #setState(state: State): void {
    this.#state = state;
  }

  #reopen(): ProfileFile {
    const file = openProfileFile(this.#options);
    this.#setState({ kind: "open", file });
    return file;
  }

  #failed(error: unknown): void {
    if (this.#state.kind === "open") this.#state.file.abandon();
    this.#setState({ kind: "broken" });
    if (!(error instanceof DamagedProfiles) && !isDamagedFile(error)) return;
    const keptAs = setProfilesAside(this.#options.directory);
    const reason = `${PROFILES_FILE} was damaged and is rebuilt from the log`;
    this.#setState({ kind: "set aside", reason });
    this.#options.onSetAside?.(keptAs, "later");
  }
}

/** Opens the file. If it is damaged, sets it aside and opens a new one. */
function openSound(options: SqliteProfileStoreOptions): ProfileFile {
  try {
    return openProfileFile(options);
  } catch (error) {
    if (!isDamagedFile(error)) throw error;
    const keptAs = setProfilesAside(options.directory);
    const file = openProfileFile(options);
    options.onSetAside?.(keptAs, "opening");
    return file;
  }
}

/** Opens the file, without an answer to damage. */
export function openProfileFile({ directory, cacheKib = 32_768 }: SqliteProfileStoreOptions): ProfileFile {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  makeOwnerOnly(join(directory, PROFILES_FILE));
  const database = new DatabaseSync(join(directory, PROFILES_FILE));
  try {
    database.exec(`
      PRAGMA busy_timeout = ${RELEASE_MS};
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA auto_vacuum = INCREMENTAL;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = NORMAL;
      PRAGMA fullfsync = ON;
      PRAGMA wal_autocheckpoint = ${LOG_PAGES};
      PRAGMA journal_size_limit = 1048576;
      PRAGMA secure_delete = ON;
      PRAGMA temp_store = MEMORY;
      PRAGMA cache_size = -${cacheKib};
    `);
    const { user_version: layout } = database.prepare("PRAGMA user_version").get() as {
      user_version: number;
    };
    if (layout > PROFILES_LAYOUT)
      throw new Error(`${PROFILES_FILE} was written by a newer version (layout ${layout})`);
    if (layout < PROFILES_LAYOUT)
      database.exec(`BEGIN; ${SCHEMA} PRAGMA user_version = ${PROFILES_LAYOUT}; COMMIT`);
    const file = new ProfileFile(database, directory);
    // The first read of every start. If it finds damage now, a new file can take this one's place at once.
    file.cursor();
    return file;
  } catch (error) {
    database.close();
    throw error;
  }
}

class DamagedProfiles extends Error {
  override readonly name = "DamagedProfiles";
}

/** The open file, with its prepared statements. */
export class ProfileFile implements Answering<"profiles"> {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #snapshot: FileSnapshot;
  readonly #logFile: string;
  #appliedMark: AppliedMark | undefined;
  #isSynced = false;
  /** The length of the write-ahead log after which a checkpoint runs. Absent: SQLite itself starts them. */
  #mostLogBytes: number | undefined;

  constructor(database: DatabaseSync, directory: string) {
    this.#database = database;
    this.#snapshot = new FileSnapshot(directory, PROFILES_FILE);
    this.#logFile = join(directory, `${PROFILES_FILE}-wal`);
  }

  readonly snapshots: Answering<"profileSnapshots"> = {
    begin: () => this.#beginSnapshot(),
    read: (at, bytes) => this.#snapshot.read(at, bytes),
    end: () => {
      this.#snapshot.end();
      this.#database.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
      this.#mostLogBytes = undefined;
    },
  };

  #beginSnapshot(): SnapshotInfo {
    this.#emptyLogFile();
    const pageBytes = pageBytesOf(this.#database);
    const { page_count: pages } = this.#get<{ page_count: number }>("PRAGMA page_count") ?? { page_count: 0 };
    const bytes = this.#snapshot.begin(pageBytes, pages);
    // Every checkpoint must save pages first, also those that SQLite would start.
    this.#database.exec("PRAGMA wal_autocheckpoint = 0");
    this.#mostLogBytes = LOG_PAGES * pageBytes;
    return { file: PROFILES_FILE, bytes, layout: PROFILES_LAYOUT };
  }

  /** During a snapshot, does what `wal_autocheckpoint` does otherwise. */
  #checkpointIfLong(): void {
    if (this.#mostLogBytes === undefined || statSync(this.#logFile).size < this.#mostLogBytes) return;
    this.#snapshot.save();
    this.#database.exec("PRAGMA wal_checkpoint(PASSIVE)");
  }

  #emptyLogFile(): void {
    this.#snapshot.save();
    const result = this.#get<{ busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)");
    if (result?.busy !== 0) throw new Error("the write-ahead log of the profiles could not be emptied");
  }

  checkWhole(): void {
    if (!areProfilesSound(this.#database)) throw new DamagedProfiles();
  }

  cursor(): Offset {
    const row = this.#get<{ cursor: number }>("SELECT cursor FROM progress");
    return row === undefined ? BEFORE_FIRST : (row.cursor as Offset);
  }

  documents(): ReadonlyMap<string, string> {
    const rows = this.#all<{ name: string; json: string }>("SELECT name, json FROM documents");
    return new Map(rows.map(({ name, json }) => [name, json]));
  }

  resolve(identities: readonly string[]): ReadonlyMap<string, number> {
    const found = new Map<string, number>();
    for (const identity of identities) {
      const row = this.#get<{ profile: number }>(
        "SELECT profile FROM identities WHERE identity = ?",
        asText(identity),
      );
      if (row !== undefined) found.set(identity, row.profile);
    }
    return found;
  }

  load(numbers: readonly number[]): ProfileRecord[] {
    return numbers.flatMap((number) => this.#load(number) ?? []);
  }

  #load(number: number): ProfileRecord | undefined {
    return this.#get(
      "SELECT number, first AS firstSeenMs, last AS lastSeenMs, body FROM profiles WHERE number = ?",
      number,
    );
  }

  scan(
    after: number,
    max: { readonly profiles: number; readonly bytes: number; readonly isDescending?: boolean },
  ): { records: ProfileRecord[]; isEnd: boolean } {
    // One more than asked for, to know whether there is a next one.
    const rows = this.#all<{ number: number }>(
      max.isDescending === true
        ? "SELECT number FROM profiles WHERE number < ? ORDER BY number DESC LIMIT ?"
        : "SELECT number FROM profiles WHERE number > ? ORDER BY number LIMIT ?",
      after,
      max.profiles + 1,
    );
    const records: ProfileRecord[] = [];
    let bytes = 0;
    for (const { number } of rows.slice(0, max.profiles)) {
      if (bytes >= max.bytes) break;
      const record = this.#load(number);
      if (record === undefined) continue;
      records.push(record);
      bytes += record.body.length;
    }
    return { records, isEnd: records.length === rows.length };
  }

  count(): number {
    return this.#get<{ n: number }>("SELECT count(*) AS n FROM profiles")?.n ?? 0;
  }

  due(nowMs: number, limit: number): number[] {
    const rows = this.#all<{ number: number }>(
      "SELECT number FROM profiles WHERE due <= ? ORDER BY due, number LIMIT ?",
      nowMs,
      limit,
    );
    return rows.map((row) => row.number);
  }

  nextDueMs(): number | undefined {
    return this.#get<{ due: number }>("SELECT due FROM profiles WHERE due IS NOT NULL ORDER BY due LIMIT 1")
      ?.due;
  }

  members(definitionId: string, { limit, cursor }: PageRequest): Page<MemberRecord> {
    // One more than a page, to know whether there is a next page.
    const rows = this.#all<MemberRecord>(
      `SELECT profile, since AS sinceMs FROM members
       WHERE definition = ? AND profile > ? ORDER BY profile LIMIT ?`,
      definitionId,
      positionIn(cursor),
      limit + 1,
    );
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return rows.length > limit && last !== undefined
      ? { items, nextCursor: writePosition(last.profile) }
      : { items };
  }

  held(definitionId: string, limit: number): number[] {
    const rows = this.#all<{ profile: number }>(
      "SELECT profile FROM held WHERE definition = ? ORDER BY profile LIMIT ?",
      definitionId,
      limit,
    );
    return rows.map((row) => row.profile);
  }

  pending(limit: number): PendingMessage[] {
    const rows = this.#all<{ seq: number; profile: number; destinations: string; message: string }>(
      "SELECT seq, profile, destinations, message FROM owed ORDER BY seq LIMIT ?",
      limit,
    );
    return rows.map(({ destinations, ...row }) => ({
      ...row,
      destinationIds: JSON.parse(destinations) as string[],
    }));
  }

  commit(change: ProfileCommit): void {
    this.#sync(change.isSynced === true || (change.pending?.length ?? 0) > 0);
    this.#inTransaction(() => this.#write(change));
  }

  /**
   * In a copy of a replicated log: commits the changes of one entry together with its mark, unsynced, because the log is synced. A change
   * that breaks a rule of the tables is left out. Returns which ones were.
   */
  commitEntry(changes: readonly ProfileCommit[], applied: Applied): ReadonlyMap<ProfileCommit, unknown> {
    const failed = new Map<ProfileCommit, unknown>();
    this.#inTransaction(() => {
      for (const change of changes) {
        this.#database.exec("SAVEPOINT one");
        try {
          this.#write(change);
        } catch (error) {
          if (isDamage(error) || !isContained(error)) throw error;
          this.#database.exec("ROLLBACK TO one");
          failed.set(change, error);
        }
        this.#database.exec("RELEASE one");
      }
      this.#mark.set(applied);
    });
    return failed;
  }

  /** The last entry of a replicated log with changes of profiles. */
  get applied(): Applied {
    return this.#mark.value;
  }

  /** Only a copy of a replicated log has one. */
  get #mark(): AppliedMark {
    this.#appliedMark ??= new AppliedMark(this.#database);
    return this.#appliedMark;
  }

  #inTransaction(write: () => void): void {
    this.#database.exec("BEGIN");
    try {
      write();
      this.#database.exec("COMMIT");
      this.#checkpointIfLong();
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  /** Removes old pages from the write-ahead log. In the file itself, `secure_delete` already overwrites deleted bytes. */
  compact(): void {
    this.#database.exec("PRAGMA incremental_vacuum");
    this.#emptyLogFile();
  }

  close(): void {
    // Closing copies the write-ahead log into the file.
    this.#snapshot.lose("the profiles were closed");
    this.#database.close();
    this.#snapshot.close();
  }

  /** Closes a file that may not be usable any more. */
  abandon(): void {
    try {
      this.close();
    } catch {
      // The file is given up either way. Nothing more may be written through it.
    }
  }

  #write(change: ProfileCommit): void {
    this.#writeProfiles(change);
    this.#writeIdentities(change);
    this.#writeMemberships(change);
    this.#writeOutbox(change);
    this.#writeProgress(change);
  }

  #writeProfiles(change: ProfileCommit): void {
    for (const number of change.removedProfiles ?? [])
      this.#run("DELETE FROM profiles WHERE number = ?", number);
    for (const { number, body, dueMs, firstSeenMs, lastSeenMs } of change.profiles ?? [])
      this.#run(
        `INSERT INTO profiles (number, due, body, first, last) VALUES (?, ?, ?, ?, ?) ON CONFLICT (number)
         DO UPDATE SET due = excluded.due, body = excluded.body, first = excluded.first, last = excluded.last`,
        number,
        dueMs ?? null,
        body,
        firstSeenMs,
        lastSeenMs,
      );
    for (const [number, firstMs, lastMs] of change.seen ?? [])
      this.#run(
        "UPDATE profiles SET first = min(first, ?), last = max(last, ?) WHERE number = ?",
        firstMs,
        lastMs,
        number,
      );
  }

  #writeIdentities(change: ProfileCommit): void {
    for (const [identity, profile] of change.identities ?? []) {
      if (profile === undefined) this.#run("DELETE FROM identities WHERE identity = ?", asText(identity));
      else
        this.#run(
          `INSERT INTO identities (identity, profile) VALUES (?, ?)
           ON CONFLICT (identity) DO UPDATE SET profile = excluded.profile`,
          asText(identity),
          profile,
        );
    }
  }

  #writeMemberships(change: ProfileCommit): void {
    for (const [definitionId, profile, sinceMs] of change.members ?? []) {
      if (sinceMs === undefined)
        this.#run("DELETE FROM members WHERE definition = ? AND profile = ?", definitionId, profile);
      else
        this.#run(
          `INSERT INTO members (definition, profile, since) VALUES (?, ?, ?)
           ON CONFLICT (definition, profile) DO UPDATE SET since = excluded.since`,
          definitionId,
          profile,
          sinceMs,
        );
    }
    for (const [definitionId, profile, isHeld] of change.held ?? [])
      this.#run(
        isHeld
          ? "INSERT OR IGNORE INTO held (definition, profile) VALUES (?, ?)"
          : "DELETE FROM held WHERE definition = ? AND profile = ?",
        definitionId,
        profile,
      );
    for (const definitionId of change.removedDefinitions ?? []) {
      this.#run("DELETE FROM members WHERE definition = ?", definitionId);
      this.#run("DELETE FROM held WHERE definition = ?", definitionId);
    }
  }

  #writeOutbox(change: ProfileCommit): void {
    if (change.publishedUpTo !== undefined)
      this.#run("DELETE FROM owed WHERE seq <= ?", change.publishedUpTo);
    for (const profile of change.withdrawn ?? []) this.#run("DELETE FROM owed WHERE profile = ?", profile);
    for (const { seq, profile, destinationIds, message } of change.pending ?? [])
      this.#run(
        "INSERT INTO owed (seq, profile, destinations, message) VALUES (?, ?, ?, ?)",
        seq,
        profile,
        JSON.stringify(destinationIds),
        message,
      );
  }

  #writeProgress(change: ProfileCommit): void {
    for (const [name, json] of change.documents ?? []) {
      if (json === undefined) this.#run("DELETE FROM documents WHERE name = ?", name);
      else
        this.#run(
          `INSERT INTO documents (name, json) VALUES (?, ?)
           ON CONFLICT (name) DO UPDATE SET json = excluded.json`,
          name,
          json,
        );
    }
    if (change.cursor !== undefined)
      this.#run(
        `INSERT INTO progress (only, cursor) VALUES (1, ?)
         ON CONFLICT (only) DO UPDATE SET cursor = excluded.cursor`,
        change.cursor,
      );
    // A transaction that writes nothing is not synced.
    else if (change.isSynced) this.#run("UPDATE progress SET cursor = cursor");
  }

  #sync(isSynced: boolean): void {
    if (isSynced === this.#isSynced) return;
    this.#database.exec(`PRAGMA synchronous = ${isSynced ? "FULL" : "NORMAL"}`);
    this.#isSynced = isSynced;
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  #get<Row>(sql: string, ...values: (string | number | null)[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined;
  }

  #all<Row>(sql: string, ...values: (string | number | null)[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[];
  }

  #run(sql: string, ...values: (string | number | null)[]): void {
    this.#prepare(sql).run(...values);
  }
}

function positionIn(cursor: string | undefined): number {
  try {
    return readPosition(cursor) ?? -1;
  } catch (error) {
    if (error instanceof StoreError) throw new Refusal(error.code, error.detail ?? "");
    throw error;
  }
}

/**
 * The identity as SQLite text. UTF-8 cannot hold half a surrogate pair, so an id with one is written as JSON. Its leading quotation mark
 * tells it from all other identities, which begin with their kind.
 */
function asText(identity: string): string {
  return identity.isWellFormed() ? identity : JSON.stringify(identity);
}
