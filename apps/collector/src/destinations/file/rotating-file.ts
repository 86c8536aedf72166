import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

export interface RotatingFileOptions {
  readonly path: string;
  readonly maxBytes: number;
  /** Rotated files to keep. `path.1` is the newest. */
  readonly maxFiles: number;
}

export interface RotatingFile {
  /** Resolves when the line is synced to disk. Lines that arrive during a write are written together in the next one. */
  append(line: string): Promise<void>;
  close(): Promise<void>;
}

interface Waiting {
  readonly line: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Opens the file and creates its folder. Rejects if the file cannot be opened. */
export async function openRotatingFile(options: RotatingFileOptions): Promise<RotatingFile> {
  // The file contains personal data, so only its owner may read it.
  await mkdir(dirname(options.path), { recursive: true, mode: 0o700 });
  const writer = new FileWriter(options, await openAtEnd(options.path));
  let waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;
  let closed = false;

  /** Writes the waiting lines, as many at a time as fit into the file. Only one call runs at a time. */
  const writeWaiting = async (): Promise<void> => {
    while (waiting.length > 0) {
      const { count, bytes } = fitting(waiting, writer.room);
      const group = waiting.slice(0, count);
      waiting = waiting.slice(count);
      try {
        await writer.write(group.map(({ line }) => line).join(""), bytes);
        for (const { resolve } of group) resolve();
      } catch (error) {
        for (const { reject } of group) reject(error);
        await writer.reopen();
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
      await writer.close();
    },
  };
}

/** Returns how many lines fit into `room` bytes, but at least one. */
function fitting(lines: readonly Waiting[], room: number): { count: number; bytes: number } {
  let bytes = 0;
  let count = 0;
  for (const { line } of lines) {
    const length = Buffer.byteLength(line);
    if (count > 0 && bytes + length > room) break;
    bytes += length;
    count += 1;
  }
  return { count, bytes };
}

interface OpenFile {
  readonly handle: FileHandle;
  readonly size: number;
}

/** Appends to the file and rotates it. Calls must not overlap. */
class FileWriter {
  readonly #options: RotatingFileOptions;
  #file: OpenFile;

  constructor(options: RotatingFileOptions, file: OpenFile) {
    this.#options = options;
    this.#file = file;
  }

  /** Bytes left before the file must be rotated. */
  get room(): number {
    return Math.max(0, this.#options.maxBytes - this.#file.size);
  }

  /** Resolves when the text is synced. */
  async write(text: string, bytes: number): Promise<void> {
    if (this.#file.size > 0 && bytes > this.room) await this.#rotate();
    const { handle, size } = this.#file;
    await handle.appendFile(text);
    await handle.datasync();
    this.#file = { handle, size: size + bytes };
  }

  /** Call this after a failed write. It is unknown what was written, so writing continues at the actual end of the file. */
  async reopen(): Promise<void> {
    await this.#file.handle.close().catch(() => {});
    try {
      this.#file = await openAtEnd(this.#options.path);
    } catch {
      // The next write fails on the closed handle and tries to reopen the file again.
    }
  }

  async close(): Promise<void> {
    await this.#file.handle.close();
  }

  async #rotate(): Promise<void> {
    const { path, maxFiles } = this.#options;
    await this.#file.handle.close();
    await rm(`${path}.${maxFiles}`, { force: true });
    for (let index = maxFiles - 1; index >= 1; index--) {
      await rename(`${path}.${index}`, `${path}.${index + 1}`).catch(ignoreMissing);
    }
    await rename(path, `${path}.1`);
    this.#file = await openAtEnd(path);
  }
}

/** Opens the file for appending. Terminates a last line that a crash cut short, so that the next line starts on its own. */
async function openAtEnd(path: string): Promise<OpenFile> {
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
