import { chmodSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Synchronous } from "../calls/tuning.js";
import { DATABASE_FILE } from "./database-name.js";
import { signsOfEmptiedStore } from "./emptied-store.js";
import { SCHEMA_STEPS } from "./schema.js";

export { DATABASE_FILE } from "./database-name.js";

/** "Slui" in ASCII: says that a database is one of ours. */
const APPLICATION_ID = 0x536c7569;

/** Why a data folder cannot be opened, in words for the person who started the collector. */
export class CannotOpen extends Error {
  override readonly name = "CannotOpen";
  /** Another process has it, it is of a newer version or damaged: trying again does not help. */
  readonly final: boolean;
  /** `sluice repair` helps. */
  readonly isDamage: boolean;

  constructor(reason: string, options: { final: boolean; isDamage?: boolean; cause?: unknown }) {
    super(reason, { cause: options.cause });
    this.final = options.final;
    this.isDamage = options.isDamage ?? false;
  }
}

/** The database cannot be read: which file, what that means, and what to do. */
export function damagedDatabase(directory: string, reason: string, cause?: unknown): CannotOpen {
  return new CannotOpen(
    `${join(directory, DATABASE_FILE)} is damaged: ${reason}. Nothing was changed. Run \`sluice repair --data-dir ${directory}\`: it keeps every message and setting that can still be read, and names what is lost`,
    { final: true, isDamage: true, cause },
  );
}

/** Pages in the cache: enough for the inner pages of the largest log and a row or two. */
const CACHE_KIB = 16_384;
/**
 * Of folders made from now on; older ones keep theirs (8 KB). A page is four system calls on its way through the write-ahead log: with 16 KB
 * the thread's system time in batches is a quarter less than with 8 KB, and single messages cost the same.
 */
const PAGE_BYTES = 16_384;

/** What the write-ahead log's file is cut back to once it is in the database: a burst's length does not stay. */
const LOG_FILE_BYTES = 8 * 1024 * 1024;

/**
 * Opens the database of a folder, made if there is none, for this process alone.
 *
 * The lock is SQLite's own on the file (`locking_mode=EXCLUSIVE`): the operating system releases it when the process ends,
 * however it ends. In this mode there is no shared-memory file either.
 */
export function openDatabase(
  directory: string,
  synchronous: Synchronous,
  steps: readonly string[] = SCHEMA_STEPS,
): DatabaseSync {
  makeDirectory(directory);
  checkEmptied(directory);
  const file = join(directory, DATABASE_FILE);
  let database: DatabaseSync | undefined;
  try {
    makeOwnerOnly(file);
    // Of one that a crash left behind: a new one gets the database's mode.
    if (existsSync(`${file}-wal`)) makeOwnerOnly(`${file}-wal`);
    database = new DatabaseSync(file);
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    checkOwner(database, directory, steps.length);
    configure(database, synchronous);
    checkLength(database, file);
    migrate(database, steps);
    return database;
  } catch (error) {
    database?.close();
    throw asCannotOpen(error, directory);
  }
}

/** A store that was emptied must not begin anew in silence: its messages, sources and tokens would be gone. */
function checkEmptied(directory: string): void {
  const signs = signsOfEmptiedStore(directory);
  if (signs.length === 0) return;
  const file = join(directory, DATABASE_FILE);
  throw new CannotOpen(
    `${file} is ${existsSync(file) ? "empty" : "missing"}, but the folder had one before (it has ${signs.join(", ")}): its messages, sources and tokens would be lost. Restore it from a backup; to begin anew instead, move the whole folder away`,
    { final: true },
  );
}

/** Before SQLite makes it: the write-ahead log, too, gets the mode that the database has. */
export function makeOwnerOnly(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    // Never opened here: closing it would release the locks that this process has on it.
    if (process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0) closeToOthers(file);
  }
}

function closeToOthers(file: string): void {
  try {
    chmodSync(file, 0o600);
  } catch (error) {
    // Another user's file: that one decides who reads it.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}

/** Throws where a table or an index is not as SQLite wrote it. Reads the whole file. */
export function checkStructure(database: DatabaseSync, directory: string): void {
  const { integrity_check: result } = database.prepare("PRAGMA integrity_check(1)").get() as {
    integrity_check: string;
  };
  if (result !== "ok") throw damagedDatabase(directory, result);
}

function configure(database: DatabaseSync, synchronous: Synchronous): void {
  database.exec(`
    PRAGMA page_size = ${PAGE_BYTES};
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = ${synchronous};
    PRAGMA fullfsync = ON;
    PRAGMA checkpoint_fullfsync = ON;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA journal_size_limit = ${LOG_FILE_BYTES};
    PRAGMA secure_delete = ON;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -${CACHE_KIB};
  `);
}

/** SQLite itself takes note of a file that is too short only when it comes to the missing pages. */
function checkLength(database: DatabaseSync, file: string): void {
  const { page_count: pages } = database.prepare("PRAGMA page_count").get() as { page_count: number };
  const pageBytes = pageBytesOf(database);
  const walBytes = existsSync(`${file}-wal`) ? statSync(`${file}-wal`).size : 0;
  // Pages that only the write-ahead log has are not in the file yet.
  if (walBytes === 0 && statSync(file).size < pages * pageBytes) {
    throw damagedDatabase(dirname(file), "it is shorter than it says");
  }
}

export function pageBytesOf(database: DatabaseSync): number {
  return (database.prepare("PRAGMA page_size").get() as { page_size: number }).page_size;
}

function stepsDone(database: DatabaseSync): number {
  return (database.prepare("PRAGMA user_version").get() as { user_version: number }).user_version;
}

/** Before anything is changed in it: whether the database is ours, and of a layout that this version knows. */
function checkOwner(database: DatabaseSync, directory: string, known: number): void {
  const { application_id: owner } = database.prepare("PRAGMA application_id").get() as {
    application_id: number;
  };
  const { tables } = database.prepare("SELECT count(*) AS tables FROM sqlite_schema").get() as {
    tables: number;
  };
  if (tables > 0 && owner !== APPLICATION_ID) {
    throw new CannotOpen(`${join(directory, DATABASE_FILE)} is a database of another program`, {
      final: true,
    });
  }
  const done = stepsDone(database);
  if (done > known) {
    throw new CannotOpen(
      `the data folder ${directory} was written by a newer version: its layout is ${done}, this version knows up to ${known}`,
      { final: true },
    );
  }
}

function migrate(database: DatabaseSync, steps: readonly string[]): void {
  const done = stepsDone(database);
  // Takes the lock, also where nothing is to be done.
  database.exec("BEGIN IMMEDIATE");
  for (const step of steps.slice(done)) database.exec(step);
  if (done < steps.length) {
    database.exec(`PRAGMA user_version = ${steps.length}; PRAGMA application_id = ${APPLICATION_ID}`);
  }
  database.exec("COMMIT");
}

/** Makes the folder, its entry synced: SQLite syncs the folder for its own files, but not the folder's place in its parent. */
function makeDirectory(directory: string): void {
  // What people do is in there: nobody else on the machine needs to see it.
  const made = mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (made === undefined) return;
  for (let path = resolve(directory); ; path = dirname(path)) {
    syncDirectory(path);
    if (path === dirname(resolve(made))) return;
  }
}

export function syncDirectory(path: string): void {
  // Windows cannot open a folder for syncing, and keeps its entries itself.
  if (process.platform === "win32") return;
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
const DAMAGE: ReadonlySet<number> = new Set([SQLITE_CORRUPT, SQLITE_NOTADB]);

/** SQLite's result code; 0 where the error is not SQLite's. */
function codeOf(error: unknown): number {
  return ((error as { errcode?: number }).errcode ?? 0) & 0xff;
}

/** Whether SQLite, or what opens its file, has thrown it: anything else that reading throws says that the contents are not as written. */
export function isSqliteError(error: unknown): boolean {
  return (
    error instanceof CannotOpen || codeOf(error) !== 0 || (error as { code?: unknown }).code !== undefined
  );
}

/** Whether an error says that the database's file is not as it was written. */
export function isDamagedFile(error: unknown): boolean {
  return error instanceof CannotOpen ? error.isDamage : DAMAGE.has(codeOf(error));
}

export function asCannotOpen(error: unknown, directory: string): CannotOpen {
  if (error instanceof CannotOpen) return error;
  switch (codeOf(error)) {
    case SQLITE_BUSY:
      return new CannotOpen(`the data folder ${directory} is in use by another process`, {
        final: true,
        cause: error,
      });
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return damagedDatabase(directory, describe(error), error);
    default:
      return new CannotOpen(`the data folder ${directory} cannot be opened: ${describe(error)}`, {
        final: false,
        cause: error,
      });
  }
}

export function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
