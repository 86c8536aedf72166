import fs from "node:fs";
import files, { type FileHandle } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

/**
 * Makes the calls of `node:fs/promises` below a folder end at once: a file that is ready after an unknown time would make runs differ.
 * Nothing is synced. All other paths go to the real file system. Returns a function that ends it.
 */
export function answerFilesAtOnce(folder: string): () => void {
  const original = { ...files };
  const atOnce = <Name extends keyof typeof CALLS>(name: Name): void => {
    const call = original[name] as (...args: unknown[]) => Promise<unknown>;
    const run = CALLS[name] as (...args: unknown[]) => unknown;
    const replaced = async (...args: unknown[]): Promise<unknown> =>
      String(args[0]).startsWith(folder) ? run(...args) : call(...args);
    Object.assign(files, { [name]: replaced });
  };
  for (const name of Object.keys(CALLS) as (keyof typeof CALLS)[]) atOnce(name);
  syncBuiltinESMExports();
  return () => {
    Object.assign(files, original);
    syncBuiltinESMExports();
  };
}

const CALLS = {
  access: fs.accessSync,
  chmod: fs.chmodSync,
  lstat: fs.lstatSync,
  mkdir: fs.mkdirSync,
  open: openAtOnce,
  readdir: fs.readdirSync,
  readFile: fs.readFileSync,
  rename: fs.renameSync,
  rm: fs.rmSync,
  stat: fs.statSync,
  statfs: fs.statfsSync,
  writeFile: fs.writeFileSync,
} as const;

/** The methods of a file that the product uses. */
function openAtOnce(...args: Parameters<typeof fs.openSync>): Partial<FileHandle> {
  const descriptor = fs.openSync(...args);
  return {
    appendFile: async (data) => fs.appendFileSync(descriptor, data as Uint8Array),
    writeFile: async (data) => fs.writeFileSync(descriptor, data as string),
    chmod: async (mode) => fs.fchmodSync(descriptor, mode),
    sync: async () => {},
    close: async () => fs.closeSync(descriptor),
  };
}
