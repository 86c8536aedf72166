import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { nextFreeName } from "../database/next-free-name.js";

/** Profiles have a file of their own: their random writes neither slow the log's commits down nor wait for them. */
export const PROFILES_FILE = "profiles.db";

/** Gives a damaged file of profiles another name, and tells it: the next opening makes a new one, which is filled from the log. */
export function setProfilesAside(directory: string): string {
  const file = join(directory, PROFILES_FILE);
  const kept = nextFreeName(`${file}.damaged`);
  renameSync(file, kept);
  if (existsSync(`${file}-wal`)) renameSync(`${file}-wal`, `${kept}-wal`);
  rmSync(`${file}-shm`, { force: true });
  return kept;
}

/** Whether the file is as it was written, as far as that can be told. Reads all of it; throws SQLite's error where that stops it. */
export function areProfilesSound(database: DatabaseSync): boolean {
  const { integrity_check: result } = database.prepare("PRAGMA integrity_check(1)").get() as {
    integrity_check: string;
  };
  if (result !== "ok") return false;
  const { tables } = database.prepare("SELECT count(*) AS tables FROM sqlite_schema").get() as {
    tables: number;
  };
  // A file that was never filled.
  if (tables === 0) return true;
  const { bad } = database
    .prepare(
      `SELECT (SELECT count(*) FROM profiles WHERE NOT json_valid(body)) +
         (SELECT count(*) FROM owed WHERE NOT json_valid(destinations) OR NOT json_valid(message)) +
         (SELECT count(*) FROM documents WHERE NOT json_valid(json)) AS bad`,
    )
    .get() as { bad: number };
  return bad === 0;
}
