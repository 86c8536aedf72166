import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { ProfileCommit } from "../../ports/profiles.js";
import { nextFreeName } from "../database/database-files.js";

/** Profiles have their own file, so that their random writes do not slow down the log's commits, or wait for them. */
export const PROFILES_FILE = "profiles.db";

/** Renames a damaged profiles file and returns the new name. The next opening creates a new file, which is filled from the log. */
export function setProfilesAside(directory: string): string {
  const file = join(directory, PROFILES_FILE);
  const kept = nextFreeName(`${file}.damaged`);
  renameSync(file, kept);
  if (existsSync(`${file}-wal`)) renameSync(`${file}-wal`, `${kept}-wal`);
  rmSync(`${file}-shm`, { force: true });
  return kept;
}

/** Checks the whole file for damage. Throws SQLite's error if the damage prevents reading. */
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

/** A change of profiles as it was before it went through JSON, which writes `null` for `undefined` in a list. */
export function withoutNulls(change: ProfileCommit): ProfileCommit {
  const { identities, members, documents } = change;
  return {
    ...change,
    ...(identities && {
      identities: identities.map(([identity, profile]) => [identity, profile ?? undefined] as const),
    }),
    ...(members && {
      members: members.map(
        ([definition, profile, since]) => [definition, profile, since ?? undefined] as const,
      ),
    }),
    ...(documents && { documents: documents.map(([name, json]) => [name, json ?? undefined] as const) }),
  };
}
