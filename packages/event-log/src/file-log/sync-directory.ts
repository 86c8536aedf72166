import { closeSync, fsyncSync, openSync } from "node:fs";

/** Syncs the entries of a folder: the names of the files in it. */
export function syncDirectory(path: string): void {
  // Windows cannot open a folder for syncing, and does not need it.
  if (process.platform === "win32") return;
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
