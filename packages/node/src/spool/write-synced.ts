import type { BuiltIns } from "./built-ins.js";

type Fs = BuiltIns["fs"];

/**
 * Creates the file `path` with these bytes, syncs it, and makes it readable only by its owner. Throws if the disk does not accept all of the
 * bytes: the caller removes the file.
 */
export function writeSynced(path: string, bytes: Uint8Array, fs: Fs): void {
  const descriptor = fs.openSync(path, "wx", 0o600);
  try {
    writeAll(descriptor, bytes, fs);
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

/** A full disk shortens a write without an error: only the next write fails. */
function writeAll(descriptor: number, bytes: Uint8Array, fs: Fs): void {
  for (let done = 0; done < bytes.length; ) {
    const written = fs.writeSync(descriptor, bytes, done, bytes.length - done);
    if (written === 0) throw new Error(`The disk wrote 0 of the last ${bytes.length - done} bytes`);
    done += written;
  }
}

/** Removes a file if it exists. Ignores errors. */
export function removeQuietly(path: string, fs: Fs): void {
  try {
    fs.unlinkSync(path);
  } catch {
    // A file that is left does no harm.
  }
}

/** Errors for syncing a folder where it is not supported: Windows cannot open one, and some file systems cannot sync one or need not. */
const UNSUPPORTED: ReadonlySet<unknown> = new Set([
  "EACCES",
  "EINVAL",
  "EISDIR",
  "ENOTSUP",
  "EPERM",
  "EROFS",
]);

/** Makes the file names in a folder survive a power cut. Throws if the disk fails. */
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

/** Makes the names of a folder and of its parents survive a power cut. Throws if the disk fails. */
export function syncNames(folder: string, { fs, path }: BuiltIns): void {
  for (let above = path.dirname(folder); ; above = path.dirname(above)) {
    syncFolder(above, fs);
    if (above === path.dirname(above)) return;
  }
}
