import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isDamagedFile } from "../database/database.js";
import { areProfilesSound, PROFILES_FILE, setProfilesAside } from "../profiles/profiles-file.js";

/** Renames a damaged profiles file and returns the new name. Profiles are derived from the log, so the next start rebuilds them. */
export function repairProfiles(directory: string): string | undefined {
  const file = join(directory, PROFILES_FILE);
  if (!existsSync(file) || isSound(file)) return undefined;
  return setProfilesAside(directory);
}

function isSound(file: string): boolean {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file);
    return areProfilesSound(database);
  } catch (error) {
    if (isDamagedFile(error)) return false;
    throw error;
  } finally {
    database?.close();
  }
}
