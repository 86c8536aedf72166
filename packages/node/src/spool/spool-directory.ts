import { type Batch, type Kept, reasonOf, type Spool, type SpooledBatch } from "@sluice/core";
import type { BuiltIns } from "./built-ins.js";
import { Holder, holderState, socketState } from "./holder.js";
import { readMessages } from "./read-messages.js";
import {
  bootOfSocket,
  draftFile,
  type HolderName,
  isDraft,
  isWaiting,
  numberOf,
  takenBy,
  takenFile,
  waitingFile,
} from "./spool-files.js";
import { removeQuietly, syncFolder, syncNames, writeSynced } from "./write-synced.js";

export interface SpoolDirectoryOptions {
  readonly directory: string;
  readonly maxBytes: number;
  /** Batches of different write keys or collectors are kept apart. */
  readonly writeKey: string;
  readonly batchUrl: string;
}

/** A spool that can also write at once, when no promise will be waited for any more. */
export interface SyncSpool extends Spool {
  /** Like `append`, but synchronous. Can be called before `open` has resolved. */
  appendNow(batch: Batch): Kept;
}

/** A draft is written within moments. One of this age was left by a process that ended while it wrote. */
const OLD_DRAFT_MS = 60 * 60 * 1_000;

/**
 * A holder touches its file at every try to send it, so one that has not been touched for this long was left. It decides only where nothing
 * else does. A jump of the clock can release a file early: then its messages are sent twice, with the same ids.
 */
const LEFT_AFTER_MS = 10 * 60 * 1_000;

/**
 * Keeps batches in a directory. The spool has a folder, named by a hash of write key and URL, with one file per batch and one line per
 * message.
 *
 * A file gets its name when it is complete and synced, and the folder is synced after that, so that a power cut loses neither. A process
 * takes a file by renaming it, to a name that no other process uses. Files that were taken by a process that has ended wait again.
 */
export class SpoolDirectory implements SyncSpool {
  readonly #options: SpoolDirectoryOptions;
  readonly #builtIns: BuiltIns;
  readonly #folder: string;
  readonly #holder: Holder;
  /** Bytes and messages of every file that waits or that this process has taken. */
  readonly #sizes = new Map<string, { readonly bytes: number; readonly messages: number }>();
  #lastNumber = 0;
  #isOpen = false;
  #hasSyncedNames = false;

  constructor(options: SpoolDirectoryOptions, builtIns: BuiltIns) {
    this.#options = options;
    this.#builtIns = builtIns;
    this.#folder = builtIns.path.join(options.directory, folderName(options, builtIns.crypto));
    this.#holder = new Holder(this.#folder, builtIns);
  }

  get messages(): number {
    return this.#total("messages");
  }

  async open(): Promise<void> {
    const { mkdir, readdir } = this.#builtIns.fs.promises;
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      const files = (await readdir(this.#folder)).sort();
      for (const file of files) {
        this.#lastNumber = Math.max(this.#lastNumber, numberOf(file));
        // If another process takes the file meanwhile, it is no longer ours: go on with the next one.
        await this.#add(file).catch(() => this.#sizes.delete(file));
      }
      // Last, because they say whether the holders of files have ended.
      for (const file of files) await this.#removeDeadSocket(file);
      this.#isOpen = true;
    } catch {
      // The directory cannot be read. The first write reports the error.
    }
  }

  async append(batch: Batch): Promise<Kept> {
    return this.appendNow(batch);
  }

  appendNow(batch: Batch): Kept {
    try {
      this.#write(batch);
      return "kept";
    } catch (error) {
      return { reason: `The spool cannot keep the batch: ${reasonOf(error)}` };
    }
  }

  async oldest(): Promise<SpooledBatch | undefined> {
    for (const file of [...this.#sizes.keys()].sort()) {
      try {
        const batch = await this.#take(file);
        if (batch.batch.length > 0 || batch.damaged.length > 0) return batch;
        await batch.remove();
      } catch {
        // Another process took the file, or it cannot be read.
        this.#sizes.delete(file);
      }
    }
    await this.#holder.hide();
    return undefined;
  }

  async release(): Promise<void> {
    const { rename } = this.#builtIns.fs.promises;
    // Fails for files that this process has not taken.
    for (const file of this.#sizes.keys())
      await rename(this.#takenPath(file), this.#path(file)).catch(() => {});
    await this.#holder.hide();
  }

  #takenPath(file: string): string {
    return this.#path(takenFile(file, this.#holder.name));
  }

  #path(file: string): string {
    return this.#builtIns.path.join(this.#folder, file);
  }

  #total(of: "bytes" | "messages"): number {
    let sum = 0;
    for (const size of this.#sizes.values()) sum += size[of];
    return sum;
  }

  /** Takes a file, so that no other process sends it, and reads it. */
  async #take(file: string): Promise<SpooledBatch> {
    const { existsSync, promises } = this.#builtIns.fs;
    const taken = this.#takenPath(file);
    await this.#holder.show();
    // It has this name already if it was taken before and could not be sent.
    const isTaken = existsSync(taken);
    const now = new Date();
    await promises.utimes(isTaken ? taken : this.#path(file), now, now).catch(() => {});
    if (!isTaken) await promises.rename(this.#path(file), taken);
    const { messages, damaged } = readMessages(await promises.readFile(taken, "utf8"));
    const remove = async (): Promise<void> => {
      this.#sizes.delete(file);
      await promises.unlink(taken).catch(() => {});
    };
    return { batch: messages, file: this.#path(file), damaged, remove };
  }

  /** Writes a batch to a new file. If the disk fails it throws, and leaves no file. */
  #write(batch: Batch): void {
    const { crypto, fs } = this.#builtIns;
    this.#makeFolder();
    const text = Buffer.from(batch.map(({ json }) => `${json}\n`).join(""));
    if (!this.#isOpen) this.#countLeftBytes();
    if (this.#total("bytes") + text.length > this.#options.maxBytes) {
      throw new Error(`The spool is full: it holds at most ${this.#options.maxBytes} bytes`);
    }
    const draft = this.#path(draftFile(crypto.randomUUID()));
    let file: string | undefined;
    try {
      writeSynced(draft, text, fs);
      for (const other of fs.readdirSync(this.#folder))
        this.#lastNumber = Math.max(this.#lastNumber, numberOf(other));
      file = this.#reserve();
      fs.renameSync(draft, this.#path(file));
      syncFolder(this.#folder, fs);
    } catch (error) {
      removeQuietly(draft, fs);
      if (file !== undefined) removeQuietly(this.#path(file), fs);
      throw error;
    }
    this.#sizes.set(file, { bytes: text.length, messages: batch.length });
  }

  /** Creates the folder, accessible only by the owner. Another process may have made it, and ended before its name was synced. */
  #makeFolder(): void {
    const made = this.#builtIns.fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    if (made === undefined && this.#hasSyncedNames) return;
    syncNames(this.#folder, this.#builtIns);
    this.#hasSyncedNames = true;
  }

  /** Counts the bytes that earlier processes left, also before `open` has read them: processes may end at once again and again. */
  #countLeftBytes(): void {
    const { readdirSync, statSync } = this.#builtIns.fs;
    for (const file of readdirSync(this.#folder)) {
      if (!isWaiting(file) || this.#sizes.has(file)) continue;
      // Undefined if another process has taken the file meanwhile.
      const bytes = statSync(this.#path(file), { throwIfNoEntry: false })?.size;
      if (bytes !== undefined) this.#sizes.set(file, { bytes, messages: 0 });
    }
  }

  /** Creates an empty file under the next free number, so that no other process can use it. The draft then replaces it. */
  #reserve(): string {
    const { openSync, closeSync } = this.#builtIns.fs;
    for (;;) {
      this.#lastNumber += 1;
      const file = waitingFile(this.#lastNumber);
      try {
        closeSync(openSync(this.#path(file), "wx", 0o600));
        return file;
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
      }
    }
  }

  /** Adds a file that an earlier process left. Removes it if it is an old draft. */
  async #add(file: string): Promise<void> {
    const { rename, readFile, stat, unlink } = this.#builtIns.fs.promises;
    if (isDraft(file)) {
      if ((await this.#ageMs(file)) > OLD_DRAFT_MS) await unlink(this.#path(file));
      return;
    }
    let waiting = file;
    if (!isWaiting(file)) {
      const taken = takenBy(file);
      if (taken === undefined || (await this.#isHeld(file, taken.holder))) return;
      waiting = taken.waiting;
      await rename(this.#path(file), this.#path(waiting));
    }
    const { size } = await stat(this.#path(waiting));
    const { messages } = readMessages(await readFile(this.#path(waiting), "utf8"));
    this.#sizes.set(waiting, { bytes: size, messages: messages.length });
  }

  async #isHeld(file: string, holder: HolderName): Promise<boolean> {
    const state = await holderState(this.#folder, holder, this.#holder.name, this.#builtIns);
    if (state !== "unknown") return state === "runs";
    return Math.abs(await this.#ageMs(file)) <= LEFT_AFTER_MS;
  }

  async #removeDeadSocket(file: string): Promise<void> {
    const boot = bootOfSocket(file);
    if (boot === undefined) return;
    const isDead =
      boot === this.#holder.name.boot
        ? (await socketState(this.#folder, file, this.#builtIns)) === "ended"
        : (await this.#ageMs(file).catch(() => 0)) > OLD_DRAFT_MS;
    if (isDead) await this.#builtIns.fs.promises.unlink(this.#path(file)).catch(() => {});
  }

  async #ageMs(file: string): Promise<number> {
    return Date.now() - (await this.#builtIns.fs.promises.stat(this.#path(file))).mtimeMs;
  }
}

function folderName({ writeKey, batchUrl }: SpoolDirectoryOptions, crypto: BuiltIns["crypto"]): string {
  return crypto.createHash("sha256").update(`${writeKey}\n${batchUrl}`).digest("hex").slice(0, 16);
}
