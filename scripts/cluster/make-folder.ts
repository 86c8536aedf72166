import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder and those above it, only for the owner. Throws if it cannot be made. Folder by folder, because `recursive` of Node.js tries
 * for ever where the system says that nothing can be there, as in /proc.
 */
export function makeFolder(path: string): void {
  try {
    make(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(
      `The data folder ${path} cannot be made: ${code ?? message}. Choose another one with --data-dir`,
    );
  }
}

function make(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  if (found !== undefined) throw new Error(`${path} is a file`);
  make(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}
