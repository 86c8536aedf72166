import { closeSync, existsSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Refusal } from "../calls/refusal.js";
import { describe } from "../database/database.js";

/** Sizes in SQLite's write-ahead log file: https://www.sqlite.org/fileformat2.html#walformat */
const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The part of both headers that says to which use of the file a frame belongs. */
const SALT = { inHeader: 16, inFrame: 8, bytes: 8 } as const;

interface PagesInLog {
  /** Numbers of the pages that a checkpoint may write. Pages of transactions that were rolled back may be among them. */
  readonly numbers: ReadonlySet<number>;
  /** The size of the database after the last commit, in pages. Absent: there is none in the log. */
  readonly pagesAfter?: number;
}

/** Reads which pages the write-ahead log of a database holds. */
function pagesInLog(file: string, pageBytes: number): PagesInLog {
  const numbers = new Set<number>();
  if (!existsSync(file)) return { numbers };
  const descriptor = openSync(file, "r");
  try {
    const header = Buffer.alloc(LOG_HEADER_BYTES);
    if (readSync(descriptor, header, 0, LOG_HEADER_BYTES, 0) < LOG_HEADER_BYTES) return { numbers };
    const salt = header.subarray(SALT.inHeader, SALT.inHeader + SALT.bytes);
    const frame = Buffer.alloc(FRAME_HEADER_BYTES);
    let pagesAfter: number | undefined;
    for (let at = LOG_HEADER_BYTES; ; at += FRAME_HEADER_BYTES + pageBytes) {
      if (readSync(descriptor, frame, 0, FRAME_HEADER_BYTES, at) < FRAME_HEADER_BYTES) break;
      // Frames of an earlier use of the file follow.
      if (!frame.subarray(SALT.inFrame, SALT.inFrame + SALT.bytes).equals(salt)) break;
      numbers.add(frame.readUInt32BE(0));
      const sizeAfter = frame.readUInt32BE(4);
      if (sizeAfter > 0) pagesAfter = sizeAfter;
    }
    return { numbers, ...(pagesAfter === undefined ? {} : { pagesAfter }) };
  } finally {
    closeSync(descriptor);
  }
}

/** The name of the file with the pages that changed during a snapshot. It exists only while it is created, except on Windows. */
const SAVED_SUFFIX = "-snapshot";

/**
 * - `none`: no snapshot was begun, or it was ended by its reader.
 * - `open`: entered by `begin`. The database's file may change only after `save`. Left by `end`, or to `lost`.
 * - `lost`: the state of the snapshot cannot be read any more. Left by `begin` or `end`.
 */
type State =
  | { readonly kind: "none" }
  | {
      readonly kind: "open";
      readonly pageBytes: number;
      readonly pages: number;
      /** Pages up to this number were read. Their former contents are not needed any more. */
      readUpTo: number;
      /** The pages that have changed since: number and place in the file of saved pages. */
      readonly saved: Map<number, number>;
      readonly savedFile: number;
    }
  | { readonly kind: "lost"; readonly reason: string };

/**
 * The file of an open database as it was at one moment.
 *
 * In WAL mode, only a checkpoint writes to a database's file. So the file itself is the snapshot, if the pages that a checkpoint is about to
 * overwrite are saved before. Pages that are added later cost nothing, and each page is saved once at most: writers never wait for the
 * reader. The database must be open for this process alone, with `wal_autocheckpoint` off.
 */
export class FileSnapshot {
  readonly #file: string;
  readonly #name: string;
  #state: State = { kind: "none" };
  /**
   * Stays open until `close`: closing any descriptor of a file releases the locks that the process has on it, SQLite's included
   * (POSIX advisory locks).
   */
  #reader: number | undefined;

  constructor(directory: string, name: string) {
    this.#file = join(directory, name);
    this.#name = name;
    // Left behind by a process that was killed.
    rmSync(this.#file + SAVED_SUFFIX, { force: true });
  }

  /** Begins a snapshot of a file into which the whole write-ahead log was just copied. Returns the size of the snapshot. */
  begin(pageBytes: number, pages: number): number {
    if (this.#state.kind === "open") throw new Refusal("conflict", `a backup of ${this.#name} is running`);
    this.#reader ??= openSync(this.#file, "r");
    const path = this.#file + SAVED_SUFFIX;
    const savedFile = openSync(path, "w+", 0o600);
    // Without a name it is gone when the process ends. Windows cannot do that.
    if (process.platform !== "win32") rmSync(path);
    this.#setState({ kind: "open", pageBytes, pages, readUpTo: 0, saved: new Map(), savedFile });
    return pages * pageBytes;
  }

  /** Call it before each checkpoint. Never throws: a snapshot whose pages cannot be saved is lost. */
  save(): void {
    const state = this.#state;
    if (state.kind !== "open") return;
    try {
      const { numbers, pagesAfter = state.pages } = pagesInLog(`${this.#file}-wal`, state.pageBytes);
      for (const number of numbers) this.#savePage(state, number);
      // The checkpoint cuts off the end of the file.
      for (let number = pagesAfter + 1; number <= state.pages; number++) this.#savePage(state, number);
    } catch (error) {
      this.lose(`pages that changed during it could not be saved: ${describe(error)}`);
    }
  }

  #savePage(state: Extract<State, { kind: "open" }>, number: number): void {
    const { pageBytes, pages, readUpTo, saved, savedFile } = state;
    if (number <= readUpTo || number > pages || saved.has(number)) return;
    const page = readAt(this.#opened, (number - 1) * pageBytes, pageBytes);
    const at = saved.size * pageBytes;
    for (let written = 0; written < page.byteLength; )
      written += writeSync(savedFile, page, written, page.byteLength - written, at + written);
    saved.set(number, at);
  }

  /** `at`: the beginning of a page. */
  read(at: number, bytes: number): Uint8Array<ArrayBuffer> {
    const state = this.#state;
    if (state.kind !== "open")
      throw new Refusal("storage_unavailable", state.kind === "lost" ? state.reason : "there is no snapshot");
    const { pageBytes, pages, saved, savedFile } = state;
    const wanted = Math.max(0, Math.min(bytes, pages * pageBytes - at));
    const found = readAt(this.#opened, at, wanted);
    const read = new Uint8Array(wanted);
    read.set(found);
    const first = at / pageBytes + 1;
    const last = Math.ceil((at + wanted) / pageBytes);
    for (let number = first; number <= last; number++) {
      const savedAt = saved.get(number);
      const from = (number - first) * pageBytes;
      if (savedAt !== undefined) read.set(readAt(savedFile, savedAt, pageBytes), from);
      else if (from + pageBytes > found.byteLength)
        throw new Refusal("data_damaged", `${this.#name} is shorter than it should be`);
    }
    state.readUpTo = Math.max(state.readUpTo, last);
    return read;
  }

  /** Ends the snapshot because its state will be gone. The next `read` says why. */
  lose(reason: string): void {
    if (this.#state.kind === "open")
      this.#setState({ kind: "lost", reason: `the backup was given up: ${reason}` });
  }

  end(): void {
    this.#setState({ kind: "none" });
  }

  /** Call it after the database was closed. */
  close(): void {
    this.lose("the database was closed");
    if (this.#reader !== undefined) closeSync(this.#reader);
    this.#reader = undefined;
  }

  get #opened(): number {
    if (this.#reader === undefined) throw new Error(`${this.#name} is not open`);
    return this.#reader;
  }

  #setState(state: State): void {
    if (this.#state.kind === "open") {
      closeSync(this.#state.savedFile);
      rmSync(this.#file + SAVED_SUFFIX, { force: true });
    }
    this.#state = state;
  }
}

/** Up to `bytes` bytes from a place of a file; fewer at its end. */
function readAt(descriptor: number, at: number, bytes: number): Uint8Array {
  const read = new Uint8Array(bytes);
  let got = 0;
  while (got < bytes) {
    const more = readSync(descriptor, read, got, bytes - got, at + got);
    if (more === 0) break;
    got += more;
  }
  return read.subarray(0, got);
}
