import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { syncDirectory } from "../../file-log/beginning.js";
import { DATABASE_FILE, signsOfEmptiedStore } from "./database-files.js";
import { SCHEMA_STEPS } from "./schema.js";

export { DATABASE_FILE } from "./database-files.js";

/** "Sluc" in ASCII. Marks a database as a collector's. */
const APPLICATION_ID = 0x536c7563;

/** A data folder cannot be opened. The message is for the person who started the collector. */
export class CannotOpen extends Error {
  override readonly name = "CannotOpen";
  /** `sluice repair` can help. */
  readonly isDamage: boolean;
  /** Another process uses the folder. */
  readonly isInUse: boolean;

  constructor(reason: string, options: { isDamage?: boolean; isInUse?: boolean; cause?: unknown } = {}) {
    super(reason, { cause: options.cause });
    this.isDamage = options.isDamage ?? false;
    this.isInUse = options.isInUse ?? false;
  }
}

/** The error for a damaged database: which file, why, and what to do. */
export function damagedDatabase(directory: string, reason: string, cause?: unknown): CannotOpen {
  return new CannotOpen(
    `${join(directory, DATABASE_FILE)} is damaged: ${reason}. Nothing was changed. Run \`sluice repair --data-dir ${directory}\`: it keeps every message and setting that can still be read, and lists what is lost`,
    { isDamage: true, cause },
  );
}

/** The page cache, in KiB: enough for the inner pages of the largest log and a row or two. */
const CACHE_KIB = 16_384;
/**
 * Each page costs four system calls on its way through the write-ahead log: with 16 KB, batches take a quarter less system time than with
 * 8 KB, and single messages cost the same.
 */
export const PAGE_BYTES = 16_384;

/** The write-ahead log's file is cut back to this size after a checkpoint, so that a burst does not leave a long file. */
const LOG_FILE_BYTES = 8 * 1024 * 1024;

/**
 * Opens the database of a folder for this process alone. Creates it if there is none.
 *
 * The lock is SQLite's own (`locking_mode=EXCLUSIVE`). The operating system releases it however the process ends. In this mode there is no
 * shared-memory file.
 */
export function openDatabase(directory: string, steps: readonly string[] = SCHEMA_STEPS): DatabaseSync {
  makeDirectory(directory);
  checkEmptied(directory);
  const file = join(directory, DATABASE_FILE);
  let database: DatabaseSync | undefined;
  try {
    makeOwnerOnly(file);
    // Left behind by a crash. SQLite creates a new one with the database's mode.
    if (existsSync(`${file}-wal`)) makeOwnerOnly(`${file}-wal`);
    database = new DatabaseSync(file);
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    checkOwner(database, directory, steps.length);
    configure(database);
    checkLength(database, file);
    migrate(database, steps);
    return database;
  } catch (error) {
    database?.close();
    throw asCannotOpen(error, directory);
  }
}

/** Refuses a folder whose database is gone or empty. Starting over silently would hide that messages, sources and tokens are lost. */
function checkEmptied(directory: string): void {
  const signs = signsOfEmptiedStore(directory);
  if (signs.length === 0) return;
  const file = join(directory, DATABASE_FILE);
  throw new CannotOpen(
    `${file} is ${existsSync(file) ? "empty" : "missing"}, but the folder had one before (it has ${signs.join(", ")}): its messages, sources and tokens would be lost. Restore it from a backup; to start over instead, move the whole folder away`,
  );
}

/** Creates the file with mode 600, or changes it to that. Call it before SQLite creates the file: the write-ahead log gets the same mode. */
export function makeOwnerOnly(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    // Does not open the file: closing it would release the locks that this process has on it.
    if (process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0) closeToOthers(file);
  }
}

function closeToOthers(file: string): void {
  try {
    chmodSync(file, 0o600);
  } catch (error) {
    // The file belongs to another user, who decides about its mode.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}

/** Throws if a table or an index is damaged. Reads the whole file. */
export function checkStructure(database: DatabaseSync, directory: string): void {
  const { integrity_check: result } = database.prepare("PRAGMA integrity_check(1)").get() as {
    integrity_check: string;
  };
  if (result !== "ok") throw damagedDatabase(directory, result);
}

function configure(database: DatabaseSync): void {
  database.exec(`
    PRAGMA page_size = ${PAGE_BYTES};
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA fullfsync = ON;
    PRAGMA checkpoint_fullfsync = ON;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA journal_size_limit = ${LOG_FILE_BYTES};
    PRAGMA secure_delete = ON;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -${CACHE_KIB};
  `);
}

/** SQLite itself notices a truncated file only when it reads the missing pages. */
function checkLength(database: DatabaseSync, file: string): void {
  const { page_count: pages } = database.prepare("PRAGMA page_count").get() as { page_count: number };
  const pageBytes = pageBytesOf(database);
  const walBytes = existsSync(`${file}-wal`) ? statSync(`${file}-wal`).size : 0;
  // With a write-ahead log, the newest pages may not be in the file yet.
  if (walBytes === 0 && statSync(file).size < pages * pageBytes) {
    throw damagedDatabase(dirname(file), "the file is shorter than its header says");
  }
}

export function pageBytesOf(database: DatabaseSync): number {
  return (database.prepare("PRAGMA page_size").get() as { page_size: number }).page_size;
}

function stepsDone(database: DatabaseSync): number {
  return (database.prepare("PRAGMA user_version").get() as { user_version: number }).user_version;
}

/** Throws if the database belongs to another program or to a newer version. Called before anything is changed. */
export function checkOwner(database: DatabaseSync, directory: string, known: number): void {
  const { application_id: owner } = database.prepare("PRAGMA application_id").get() as {
    application_id: number;
  };
  const { tables } = database.prepare("SELECT count(*) AS tables FROM sqlite_schema").get() as {
    tables: number;
  };
  if (tables > 0 && owner !== APPLICATION_ID) {
    throw new CannotOpen(`${join(directory, DATABASE_FILE)} is a database of another program`);
  }
  const done = stepsDone(database);
  if (done > known) {
    throw new CannotOpen(
      `the data folder ${directory} was written by a newer version: its layout is ${done}, this version knows up to ${known}`,
    );
  }
}

function migrate(database: DatabaseSync, steps: readonly string[]): void {
  const done = stepsDone(database);
  // Takes the lock, even if there is nothing to do.
  database.exec("BEGIN IMMEDIATE");
  for (const step of steps.slice(done)) database.exec(step);
  if (done < steps.length) {
    database.exec(`PRAGMA user_version = ${steps.length}; PRAGMA application_id = ${APPLICATION_ID}`);
  }
  database.exec("COMMIT");
}

/** Creates the folder and syncs its entry. SQLite syncs the folder for its own files, but not the folder's entry in its parent. */
function makeDirectory(directory: string): void {
  // It holds personal data: no other user of the machine needs to see it.
  const made = mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (made === undefined) return;
  for (let path = resolve(directory); ; path = dirname(path)) {
    syncDirectory(path);
    if (path === dirname(resolve(made))) return;
  }
}

const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
const DAMAGE: ReadonlySet<number> = new Set([SQLITE_CORRUPT, SQLITE_NOTADB]);

/** SQLite's result code, or 0 for other errors. */
function codeOf(error: unknown): number {
  return ((error as { errcode?: number }).errcode ?? 0) & 0xff;
}

/** Whether SQLite or the opening of its file failed. Any other error while reading means that the contents are damaged. */
export function isSqliteError(error: unknown): boolean {
  return (
    error instanceof CannotOpen || codeOf(error) !== 0 || (error as { code?: unknown }).code !== undefined
  );
}

/** Whether an error means that the database's file is damaged. */
export function isDamagedFile(error: unknown): boolean {
  return error instanceof CannotOpen ? error.isDamage : DAMAGE.has(codeOf(error));
}

export function asCannotOpen(error: unknown, directory: string): CannotOpen {
  if (error instanceof CannotOpen) return error;
  switch (codeOf(error)) {
    case SQLITE_BUSY:
      return new CannotOpen(`the data folder ${directory} is in use by another process`, {
        isInUse: true,
        cause: error,
      });
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return damagedDatabase(directory, describe(error), error);
    default:
      return new CannotOpen(`the data folder ${directory} cannot be opened: ${describe(error)}`, {
        cause: error,
      });
  }
}

export function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
