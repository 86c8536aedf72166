import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { systemClock } from "@sluice/resilience";
import { mendBeginning, syncDirectory } from "../../file-log/beginning.js";
import { LOG_FILE } from "../../file-log/file-log.js";
import { FolderInUse, StorageUnavailable, StoreError } from "../../ports/errors.js";
import { checkNode } from "../database/check-node.js";
import { nextFreeName } from "../database/database-files.js";
import type { RepairedRows } from "./log/repair-rows.js";
import type { Salvage } from "./salvage.js";

export interface RepairReport extends RepairedRows {
  /** A sentence for each other loss. Absent if nothing else is lost. */
  readonly lost?: readonly string[];
  /** Derived data that was rebuilt, or will be at the next start. Absent if there was none. */
  readonly rebuilt?: readonly string[];
  /** The new names of damaged files that were replaced. Absent if there were none. */
  readonly setAside?: readonly string[];
}

/** JSON lines. A missing stretch has no bytes. */
const KEPT_FILE = "damaged-rows.jsonl";
/** The folder in which a new database is built. Leftovers of a killed run are deleted. */
const DRAFT_FOLDER = "repair.draft";

/**
 * Checks every file and table of a stopped collector's folder. Repairs what it can, and removes the rest so that the folder can be opened.
 *
 * If the database's structure is damaged, every readable row is copied into a new database, which replaces the damaged file in one step.
 * The damaged file is kept under another name. Derived data (indexes, profiles) is rebuilt. Damaged rows
 * of the log are removed after their bytes were written to a file. You can run it again at any time, even after it was killed.
 * Rejects with `StorageUnavailable` if a collector uses the folder, or a newer version wrote it.
 */
export async function repairStore({
  directory,
  nowMs = systemClock.now(),
}: {
  readonly directory: string;
  /** When restored retries are due. Default: now. */
  readonly nowMs?: number;
}): Promise<RepairReport> {
  checkNode();
  // Loaded late because Node.js 22 prints a warning when its SQLite is loaded.
  const { CannotOpen, DATABASE_FILE, isDamagedFile } = await import("../database/database.js");
  const { repairProfiles } = await import("./repair-profiles.js");
  const file = join(directory, DATABASE_FILE);
  if (!existsSync(file)) throw new StoreError("not_found", `there is no data folder at ${directory}`);
  if (statSync(file).size === 0 && !existsSync(`${file}-wal`)) {
    throw new StorageUnavailable(
      `${file} is empty: there is nothing in it to repair. Restore it from a backup, or move the whole folder away to start over`,
    );
  }
  rmSync(join(directory, DRAFT_FOLDER), { recursive: true, force: true });
  let store: Repaired;
  try {
    store = await repairInPlace(directory);
  } catch (error) {
    if (!isDamagedFile(error)) throw error instanceof CannotOpen ? unavailable(error) : error;
    store = await copyAnew(directory, nowMs);
  }
  const entries = await applyEntries(directory);
  const profiles = repairProfiles(directory);
  const setAside = [...store.setAside, ...entries.setAside, ...(profiles === undefined ? [] : [profiles])];
  const lost = [...store.lost, ...entries.lost];
  const rebuilt = [
    ...store.rebuilt,
    ...entries.rebuilt,
    ...(profiles === undefined ? [] : ["the profiles: the next start rebuilds them from the log"]),
  ];
  return {
    ...store.rows,
    ...(lost.length === 0 ? {} : { lost }),
    ...(rebuilt.length === 0 ? {} : { rebuilt }),
    ...(setAside.length === 0 ? {} : { setAside }),
  };
}

interface Repaired {
  readonly rows: RepairedRows;
  readonly lost: readonly string[];
  readonly rebuilt: readonly string[];
  readonly setAside: readonly string[];
}

/** Throws a `CannotOpen` or SQLite's error if the database's structure is damaged. */
async function repairInPlace(directory: string): Promise<Repaired> {
  const { openDatabase, checkStructure } = await import("../database/database.js");
  const database = openDatabase(directory);
  try {
    checkStructure(database, directory);
    return { ...(await repairTables(database, directory)), setAside: [] };
  } finally {
    database.close();
  }
}

/** Applies the entries that only the log has. `lost` has a sentence for each that cannot be read. */
async function applyEntries(directory: string): Promise<Omit<Repaired, "rows">> {
  const { applyLog } = await import("../thread/apply-log.js");
  const { keep } = await import("./log/repair-rows.js");
  const file = join(directory, LOG_FILE);
  if (!existsSync(file)) return { lost: [], rebuilt: [], setAside: [] };
  const beginning = mendBeginning(file);
  if (beginning === "unreadable") {
    const kept = nextFreeName(`${file}.damaged`);
    renameSync(file, kept);
    syncDirectory(directory);
    const lost = `every entry that only ${LOG_FILE} had: none can be found in it (it is kept as ${kept})`;
    return { lost: [lost], rebuilt: [], setAside: [kept] };
  }
  const lost: string[] = [];
  const leftOut = (what: string, bytes: Uint8Array): void => {
    lost.push(what);
    if (bytes.byteLength > 0)
      keep(join(directory, KEPT_FILE), [{ entry: what, data: Buffer.from(bytes).toString("base64") }]);
  };
  applyLog(directory, leftOut);
  return {
    lost,
    rebuilt: beginning === "mended" ? ["the beginning of the log of entries"] : [],
    setAside: [],
  };
}

async function repairTables(database: DatabaseSync, directory: string): Promise<Omit<Repaired, "setAside">> {
  const { checkContents } = await import("./check-contents.js");
  const { checkLogIndex } = await import("./log/index-log.js");
  const { repairRows } = await import("./log/repair-rows.js");
  database.exec("BEGIN IMMEDIATE");
  const lost = checkContents(database);
  const index = checkLogIndex(database);
  database.exec("COMMIT");
  const rows = repairRows(database, join(directory, KEPT_FILE), index.isRebuilt);
  const rebuilt = index.isRebuilt ? ["the log's index of ids, users and types"] : [];
  return { rows, lost: [...lost, ...index.lost], rebuilt };
}

/** Builds a new database from the readable rows of the damaged one, and replaces the damaged file by it. */
async function copyAnew(directory: string, nowMs: number): Promise<Repaired> {
  const { DATABASE_FILE, openDatabase } = await import("../database/database.js");
  const { SCHEMA_STEPS } = await import("../database/schema.js");
  const { bringInLog } = await import("./pages/bring-in-log.js");
  const { DatabaseFile } = await import("./pages/database-file.js");
  const { restoreRows } = await import("./restore-rows.js");
  const { salvage } = await import("./salvage.js");
  const file = join(directory, DATABASE_FILE);
  const draft = join(directory, DRAFT_FOLDER);
  const damaged = openSync(file, "r+");
  // If SQLite can still open the file, this lock keeps a collector from writing to it meanwhile.
  const lock = tryOpen(() => openDatabase(directory));
  try {
    lock?.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    bringInLog(file, damaged);
    const source = new DatabaseFile(damaged);
    const steps = source.layout === 0 ? SCHEMA_STEPS : SCHEMA_STEPS.slice(0, source.layout);
    mkdirSync(draft, { mode: 0o700 });
    const older = openDatabase(draft, steps);
    let salvaged: Salvage;
    try {
      older.exec("PRAGMA synchronous = OFF");
      salvaged = salvage(source, older);
    } finally {
      older.close();
    }
    // Migrates the rows to the newest layout, which the code below reads.
    const database = openDatabase(draft);
    let lost: string[];
    let repaired: Omit<Repaired, "setAside">;
    try {
      database.exec("BEGIN IMMEDIATE");
      lost = restoreRows(database, salvaged, nowMs);
      database.exec("COMMIT");
      repaired = await repairTables(database, directory);
    } finally {
      database.close();
    }
    sync(join(draft, DATABASE_FILE));
    syncDirectory(draft);
    const kept = nextFreeName(`${file}.damaged`);
    linkSync(file, kept);
    syncDirectory(directory);
    renameSync(join(draft, DATABASE_FILE), file);
    syncDirectory(directory);
    rmSync(draft, { recursive: true, force: true });
    return {
      ...repaired,
      lost: [...lost, ...repaired.lost],
      rebuilt: [...repaired.rebuilt, "SQLite's own indexes"],
      setAside: [kept],
    };
  } finally {
    lock?.close();
    closeSync(damaged);
  }
}

function tryOpen(open: () => DatabaseSync): DatabaseSync | undefined {
  try {
    return open();
  } catch {
    return undefined;
  }
}

function sync(file: string): void {
  const descriptor = openSync(file, "r+");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function unavailable(error: { readonly message: string; readonly isInUse: boolean }): StorageUnavailable {
  return error.isInUse ? new FolderInUse(error.message, error) : new StorageUnavailable(error.message, error);
}
