import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DATABASE_FILE } from "./database-name.js";

/** Files that a collector makes after its database, or beside one that was damaged. */
const SIGNS = [
  "secret.key",
  "profiles.db",
  "dev.json",
  "admin-token",
  "listening.json",
  "damaged-rows.jsonl",
];

/**
 * What shows that a folder had messages although its database is missing or empty: the names of files. Empty where the
 * database is there, and in a new folder.
 */
export function signsOfEmptiedStore(directory: string): string[] {
  const file = join(directory, DATABASE_FILE);
  if (sizeOf(file) > 0) return [];
  const others = existsSync(directory) ? readdirSync(directory) : [];
  const signs = others.filter((name) => SIGNS.includes(name) || name.startsWith(`${DATABASE_FILE}.damaged`));
  if (sizeOf(`${file}-wal`) > 0) signs.push(`${DATABASE_FILE}-wal`);
  if (others.includes("exports") && readdirSync(join(directory, "exports")).length > 0) signs.push("exports");
  return signs.sort();
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
