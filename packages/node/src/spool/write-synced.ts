import type { BuiltIns } from "./built-ins.js";

type Fs = BuiltIns["fs"];

/**
 * Creates the file `path` with these bytes, synced and readable by its owner alone. Throws when the disk does not take
 * all of them; no file is left then.
 */
export function writeSynced(path: string, bytes: Uint8Array, fs: Fs): void {
  const descriptor = fs.openSync(path, "wx", 0o600);
  try {
    try {
      writeAll(descriptor, bytes, fs);
      fs.fsyncSync(descriptor);
    } finally {
      fs.closeSync(descriptor);
    }
  } catch (error) {
    removeQuietly(path, fs);
    throw error;
  }
}

/** A full disk cuts a write short without an error; only the next one fails. */
function writeAll(descriptor: number, bytes: Uint8Array, fs: Fs): void {
  for (let done = 0; done < bytes.length; ) {
    const written = fs.writeSync(descriptor, bytes, done, bytes.length - done);
    if (written === 0) throw new Error(`The disk wrote 0 of the last ${bytes.length - done} bytes`);
    done += written;
  }
}

/** Removes a file if it is there. What stays behind does no harm. */
export function removeQuietly(path: string, fs: Fs): void {
  try {
    fs.unlinkSync(path);
  } catch {
    // Not there, or not ours to remove.
  }
}

/** Windows cannot open a folder, and some file systems cannot sync one. */
const UNSUPPORTED: ReadonlySet<unknown> = new Set(["EACCES", "EINVAL", "EISDIR", "ENOTSUP", "EPERM"]);

/** Makes the names in a folder survive a power cut. Throws when the disk fails. */
export function syncFolder(path: string, fs: Fs): void {
  try {
    const descriptor = fs.openSync(path, "r");
    try {
      fs.fsyncSync(descriptor);
    } finally {
      fs.closeSync(descriptor);
    }
  } catch (error) {
    if (!(error instanceof Error && "code" in error && UNSUPPORTED.has(error.code))) throw error;
  }
}

/** Creates a folder and those above it, for its owner alone, and syncs each folder that has a new name in it. */
export function makeFolder(folder: string, { fs, path }: BuiltIns): void {
  const first = fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; ; made = path.dirname(made)) {
    syncFolder(path.dirname(made), fs);
    if (path.resolve(made) === path.resolve(first) || made === path.dirname(made)) return;
  }
}
