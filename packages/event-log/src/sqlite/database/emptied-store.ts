import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DATABASE_FILE } from "./database-name.js";

/** An operator may put it into a new folder, so alone it is a sign only if the database exists and is empty. */
const SECRET_KEY = "secret.key";
/** Files that exist only after a collector has created its database. */
const SIGNS = [
  "profiles.db",
  "dev.json",
  "admin-token",
  "listening.json",
  "damaged-rows.jsonl",
  "entries.log",
];

/**
 * The names of files that show that a folder had a database, if the database is now missing or empty. Empty for a sound or a new folder.
 */
export function signsOfEmptiedStore(directory: string): string[] {
  const file = join(directory, DATABASE_FILE);
  if (sizeOf(file) > 0) return [];
  const others = existsSync(directory) ? readdirSync(directory) : [];
  const signs = others.filter((name) => SIGNS.includes(name) || name.startsWith(`${DATABASE_FILE}.damaged`));
  if (sizeOf(`${file}-wal`) > 0) signs.push(`${DATABASE_FILE}-wal`);
  if (others.includes("exports") && hasFiles(join(directory, "exports"))) signs.push("exports");
  if (others.includes(SECRET_KEY) && (signs.length > 0 || others.includes(DATABASE_FILE)))
    signs.push(SECRET_KEY);
  return signs.sort();
}

/** False if the folder cannot be read because it belongs to another user. */
function hasFiles(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0;
  } catch {
    return false;
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
