import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fchmodSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
  writevSync,
} from "node:fs";
import { join } from "node:path";
import { BEGIN, saltAtBeginning, syncDirectory, writeBeginning } from "./beginning.js";
import { encodeHeader, type Frame, SALT_BYTES } from "./frame.js";
import { type DamagedPlace, readFrames } from "./read-frames.js";

export const LOG_FILE = "entries.log";

/** The file grows by so much at once. A sync of bytes that the file has already is cheaper: its size does not change. */
const GROWS_BY = 1024 * 1024;
/** A longer file, left by a burst, is cut back to this when it is used again from its beginning. */
const KEPT_BYTES = 16 * 1024 * 1024;

/** The file cannot be read at all, or belongs to something else. */
export class UnusableLog extends Error {
  override readonly name = "UnusableLog";
}

/**
 * The log of a store that one process uses: entries in a file, each synced before `append` returns. A copy of them is in the database,
 * which is not synced with each commit. When the database was synced and contains them all, the file is used again from its beginning.
 */
export class FileLog {
  readonly #file: number;
  readonly #salt: Uint8Array;
  readonly #isSynced: boolean;
  /** Where the next entry begins. */
  #end = BEGIN;
  #size: number;
  #cutOff: number | undefined;

  private constructor(file: number, salt: Uint8Array, isSynced: boolean) {
    this.#file = file;
    this.#salt = salt;
    this.#isSynced = isSynced;
    this.#size = fstatSync(file).size;
  }

  /** Creates the file if there is none. `isSynced: false` loses entries in a power cut. Throws `UnusableLog`, or as the file system does. */
  static open(directory: string, isSynced = true): FileLog {
    const path = join(directory, LOG_FILE);
    if (!existsSync(path)) create(directory, path);
    const file = openSync(path, "r+");
    try {
      if (process.platform !== "win32" && (fstatSync(file).mode & 0o077) !== 0) fchmodSync(file, 0o600);
      const salt = saltAtBeginning(file);
      if (salt === undefined) throw new UnusableLog("it does not begin as a log of this version does");
      return new FileLog(file, salt, isSynced);
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  /**
   * The entries after this sequence, in order. Read all of them before `append`. `damaged` is called for each damaged place that may have
   * held such an entry; if it returns, reading goes on behind it.
   */
  *entriesAfter(sequence: number, damaged: (place: DamagedPlace) => void): Generator<Frame> {
    let isNeeded = false;
    let end = BEGIN;
    for (const found of readFrames(this.#file, this.#salt, BEGIN, sequence)) {
      if (found.kind === "damaged") {
        if (found.next > sequence + 1) damaged(found);
      } else if (found.kind === "cut") {
        this.#cutOff = found.sequence;
        this.#truncate(found.end);
      } else if (found.frame.sequence > sequence) {
        isNeeded = true;
        yield found.frame;
      }
      ({ end } = found);
    }
    this.#end = isNeeded ? end : BEGIN;
  }

  /** The sequence of an entry that was not written completely, and so is not in the log. Known after `entriesAfter`. */
  get cutOff(): number | undefined {
    return this.#cutOff;
  }

  /** Bytes of the entries since the last `restart`. */
  get bytes(): number {
    return this.#end - BEGIN;
  }

  /** The size of the file. */
  get fileBytes(): number {
    return this.#size;
  }

  /** The entry is on disk when this returns. Throws if it is not; then nothing more may be appended. */
  append(frame: Frame): void {
    const header = encodeHeader(this.#salt, frame);
    const end = this.#end + header.byteLength + frame.data.byteLength;
    try {
      if (end > this.#size) this.#grow(end);
      this.#write([header, frame.data], this.#end);
      if (this.#isSynced) fdatasyncSync(this.#file);
    } catch (error) {
      this.#cut();
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      throw new Error("the disk is full", { cause: error });
    }
    this.#end = end;
  }

  #write(parts: readonly Uint8Array[], at: number): void {
    const bytes = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (writevSync(this.#file, parts, at) === bytes) return;
    // Rare: a signal, or a disk that has just become full, which the next try reports.
    for (let place = at, rest = Buffer.concat(parts); rest.byteLength > 0; ) {
      const written = writeSync(this.#file, rest, 0, rest.byteLength, place);
      rest = rest.subarray(written);
      place += written;
    }
  }

  #grow(end: number): void {
    const size = Math.ceil(end / GROWS_BY) * GROWS_BY;
    this.#write([new Uint8Array(size - this.#size)], this.#size);
    this.#size = size;
  }

  /** Its caller is told that the entry was refused: it should not be found again, even if the process ends before the next opening. */
  #cut(): void {
    try {
      this.#truncate(this.#end);
    } catch {
      // The failure to report is the one that led here.
    }
  }

  #truncate(size: number): void {
    ftruncateSync(this.#file, size);
    this.#size = size;
  }

  /** Every entry is in the database, and the database is synced. Begins at the start of the file again. */
  restart(): void {
    this.#end = BEGIN;
    if (this.#size > KEPT_BYTES) this.#truncate(KEPT_BYTES);
  }

  /** The same, and nothing is left of the entries' bytes. */
  empty(): void {
    this.#end = BEGIN;
    this.#truncate(BEGIN);
    fsyncSync(this.#file);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** Call it when the database has every entry, and nothing uses the log. */
export function removeLog(directory: string): void {
  rmSync(join(directory, LOG_FILE), { force: true });
}

function create(directory: string, path: string): void {
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  const file = openSync(draft, "wx", 0o600);
  try {
    writeBeginning(file, randomBytes(SALT_BYTES));
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
  syncDirectory(directory);
}
