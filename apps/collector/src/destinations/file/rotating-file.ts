import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

export interface RotatingFileOptions {
  readonly path: string;
  readonly maxBytes: number;
  /** Files put aside (`path.1` is the newest) that are kept. */
  readonly maxFiles: number;
}

export interface RotatingFile {
  /** Resolves when the line is synced. Lines handed over during one write share the next. */
  append(line: string): Promise<void>;
  close(): Promise<void>;
}

interface Waiting {
  readonly line: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export async function openRotatingFile({
  path,
  maxBytes,
  maxFiles,
}: RotatingFileOptions): Promise<RotatingFile> {
  // People's data: for the owner alone.
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  let { handle, size } = await openAtEnd(path);
  let waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;
  let closed = false;

  const rotate = async (): Promise<void> => {
    await handle.close();
    await rm(`${path}.${maxFiles}`, { force: true });
    for (let index = maxFiles - 1; index >= 1; index--) {
      await rename(`${path}.${index}`, `${path}.${index + 1}`).catch(ignoreMissing);
    }
    await rename(path, `${path}.1`);
    ({ handle, size } = await openAtEnd(path));
  };

  /** Writes what waits, as many lines at a time as fit the file; the only place that writes. */
  const writeWaiting = async (): Promise<void> => {
    while (waiting.length > 0) {
      const room = Math.max(0, maxBytes - size);
      let bytes = 0;
      let count = 0;
      for (const { line } of waiting) {
        const length = Buffer.byteLength(line);
        if (count > 0 && bytes + length > room) break;
        bytes += length;
        count += 1;
      }
      const group = waiting.slice(0, count);
      waiting = waiting.slice(count);
      try {
        if (size > 0 && bytes > room) await rotate();
        await handle.appendFile(group.map(({ line }) => line).join(""));
        await handle.datasync();
        size += bytes;
        for (const { resolve } of group) resolve();
      } catch (error) {
        for (const { reject } of group) reject(error);
        // What a failed write left behind is not known: begin at the file's end as it is.
        await handle.close().catch(() => {});
        try {
          ({ handle, size } = await openAtEnd(path));
        } catch {
          // The next append fails on the closed handle, and comes here again.
        }
      }
    }
    writing = undefined;
  };

  return {
    append: (line) =>
      new Promise((resolve, reject) => {
        if (closed) {
          reject(new Error("the file is closed"));
          return;
        }
        waiting.push({ line, resolve, reject });
        writing ??= writeWaiting();
      }),
    async close() {
      closed = true;
      await writing;
      await handle.close();
    },
  };
}

/** Opens for appending; a last line that a crash cut short is ended, so that the next is a line of its own. */
async function openAtEnd(path: string): Promise<{ handle: FileHandle; size: number }> {
  const handle = await open(path, "a+", 0o600);
  let { size } = await handle.stat();
  if (size > 0) {
    const last = Buffer.alloc(1);
    await handle.read(last, 0, 1, size - 1);
    if (last[0] !== 0x0a) {
      await handle.appendFile("\n");
      size += 1;
    }
  }
  return { handle, size };
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
