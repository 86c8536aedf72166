import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { asCannotOpen, checkOwner, DATABASE_FILE, openDatabase } from "../../sqlite/database/database.js";
import { SCHEMA_STEPS } from "../../sqlite/database/schema.js";
import { openProfileFile, PROFILES_LAYOUT } from "../../sqlite/profiles/profiles.js";
import { PROFILES_FILE } from "../../sqlite/profiles/profiles-file.js";
import { applyLog } from "../../sqlite/thread/apply-log.js";
import { type Contents, contentsOf, type StoreDatabases } from "./contents.js";
import { MigrationRefused } from "./migration-result.js";

/** The data folder of a collector that does not run, for this process alone until it is closed. Its contents are not changed. */
export interface LockedFolder {
  readonly databases: StoreDatabases;
  /** Tells the folder from others. A copy of it has the same. */
  readonly seed: number;
  close(): void;
}

export interface StoredDocument {
  readonly kind: string;
  readonly id: string;
  readonly json: string;
}

/** Rejects with `MigrationRefused`: in use, damaged, of a newer version, or no data folder at all. */
export function lockFolder(directory: string): LockedFolder {
  const file = join(directory, DATABASE_FILE);
  if (!existsSync(file))
    throw new MigrationRefused(
      "no_data",
      `${directory} is no data folder of a collector: it has no ${DATABASE_FILE}`,
    );
  const opened: DatabaseSync[] = [];
  const close = (): void => {
    for (const database of opened.splice(0).reverse()) database.close();
  };
  try {
    applyLog(directory);
    const store = lock(file, opened);
    checkOwner(store, directory, SCHEMA_STEPS.length);
    store.exec("BEGIN IMMEDIATE; COMMIT");
    const profilesFile = join(directory, PROFILES_FILE);
    const profiles = existsSync(profilesFile) ? lock(profilesFile, opened) : undefined;
    const layout = profiles === undefined ? PROFILES_LAYOUT : layoutOf(profiles);
    if (layout > PROFILES_LAYOUT)
      throw new MigrationRefused(
        "folder_unusable",
        `${profilesFile} was written by a newer version: its layout is ${layout}, this version knows up to ${PROFILES_LAYOUT}`,
      );
    const isFilled = profiles !== undefined && layout > 0;
    return {
      databases: { store, profiles: isFilled ? profiles : undefined },
      seed: seedOf(store),
      close,
    };
  } catch (error) {
    close();
    throw error instanceof MigrationRefused ? error : unusable(error, directory);
  }
}

/** The documents of a folder that can be moved. Rejects as `lockFolder` does. */
export function documentsOf(directory: string): readonly StoredDocument[] {
  const folder = lockFolder(directory);
  try {
    const { store } = folder.databases;
    return store
      .prepare("SELECT kind, id, json FROM documents ORDER BY no")
      .all() as unknown as StoredDocument[];
  } finally {
    folder.close();
  }
}

function lock(file: string, opened: DatabaseSync[]): DatabaseSync {
  const database = new DatabaseSync(file);
  opened.push(database);
  database.exec("PRAGMA locking_mode = EXCLUSIVE");
  return database;
}

function layoutOf(database: DatabaseSync): number {
  return (database.prepare("PRAGMA user_version").get() as { user_version: number }).user_version;
}

function seedOf(store: DatabaseSync): number {
  const row = store.prepare("SELECT value FROM meta WHERE name = 'seed'").get() as
    | { value: number }
    | undefined;
  return row?.value ?? 0;
}

function unusable(error: unknown, directory: string): MigrationRefused {
  const { message, isInUse } = asCannotOpen(error, directory);
  if (isInUse)
    return new MigrationRefused(
      "folder_in_use",
      `${message}. Stop the collector that uses it, and run the command again`,
    );
  return new MigrationRefused("folder_unusable", message);
}

/** Copies the databases into an empty folder, without what is deleted but still takes space. */
export function copyFolder({ databases: { store, profiles } }: LockedFolder, to: string): void {
  store.prepare("VACUUM INTO ?").run(join(to, DATABASE_FILE));
  profiles?.prepare("VACUUM INTO ?").run(join(to, PROFILES_FILE));
  openDatabase(to).close();
  openProfileFile({ directory: to }).close();
}

/** The contents of closed databases in a folder. */
export async function contentsOfFolder(directory: string, signal: AbortSignal): Promise<Contents> {
  return withDatabases(directory, (databases) => contentsOf(databases, signal));
}

/** Opens closed databases in a folder of this version. */
export async function withDatabases<T>(
  directory: string,
  use: (databases: Required<{ readonly [K in keyof StoreDatabases]: DatabaseSync }>) => T | Promise<T>,
): Promise<T> {
  const store = new DatabaseSync(join(directory, DATABASE_FILE));
  const profiles = new DatabaseSync(join(directory, PROFILES_FILE));
  try {
    for (const database of [store, profiles]) database.exec("PRAGMA locking_mode = EXCLUSIVE");
    return await use({ store, profiles });
  } finally {
    store.close();
    profiles.close();
  }
}
