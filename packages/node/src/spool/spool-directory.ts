import { type Batch, type Kept, reasonOf, type Spool } from "@sluice/core";
import type { BuiltIns } from "./built-ins.js";
import { readMessages } from "./read-messages.js";
import { makeFolder, removeQuietly, syncFolder, writeSynced } from "./write-synced.js";

export interface SpoolDirectoryOptions {
  readonly directory: string;
  readonly maxBytes: number;
  /** What the messages belong to: those of another key or collector are never mixed in. */
  readonly writeKey: string;
  readonly batchUrl: string;
}

/** A spool in a directory, and a way to write to it when no promise will be waited for any more. */
export interface SpoolDirectory extends Spool {
  /** As `append`, before it returns; also where the spool is not open yet. */
  appendNow(batch: Batch): Kept;
}

/**
 * The spool has one file per batch with one line per message, named by its place in the order:
 *
 *     <directory>/<hash of key and URL>/000000000042.jsonl               waits
 *     <directory>/<hash of key and URL>/000000000042.jsonl.<pid>.taken   is being sent by that process
 *
 * A file gets its name when it is whole and synced; the folder is synced after that, so that a power cut takes neither.
 * A process takes a file by renaming it. Files that an ended process had taken wait again.
 */
export function spoolDirectory(options: SpoolDirectoryOptions, builtIns: BuiltIns): SpoolDirectory {
  const { crypto, fs, path } = builtIns;
  const { openSync, closeSync, readdirSync, statSync, renameSync, existsSync } = fs;
  const { mkdir, readdir, readFile, rename, stat, unlink } = fs.promises;
  const { join } = path;
  const folder = join(options.directory, folderName(options, crypto));
  /** Bytes and messages of every file that waits or that this process has taken. */
  const sizes = new Map<string, { bytes: number; messages: number }>();
  let lastNumber = 0;
  let isOpen = false;

  const total = (of: "bytes" | "messages"): number => {
    let sum = 0;
    for (const size of sizes.values()) sum += size[of];
    return sum;
  };

  /** Writes a whole file under a name that no other process can have chosen. Throws, and leaves nothing, where the disk fails. */
  const write = (batch: Batch): void => {
    makeFolder(folder, builtIns);
    const text = Buffer.from(batch.map(({ json }) => `${json}\n`).join(""));
    if (!isOpen) weighFolder();
    if (total("bytes") + text.length > options.maxBytes) {
      throw new Error(`The spool is full: it holds at most ${options.maxBytes} bytes`);
    }
    const draft = join(folder, `${crypto.randomUUID()}${DRAFT}`);
    let file: string | undefined;
    try {
      writeSynced(draft, text, fs);
      for (const other of readdirSync(folder)) lastNumber = Math.max(lastNumber, numberOf(other));
      file = reserve();
      renameSync(draft, join(folder, file));
      syncFolder(folder, fs);
    } catch (error) {
      removeQuietly(draft, fs);
      if (file !== undefined) removeQuietly(join(folder, file), fs);
      throw error;
    }
    sizes.set(file, { bytes: text.length, messages: batch.length });
  };

  /** What earlier processes left counts before `open` has read it, too: a process may end at once, again and again. */
  const weighFolder = (): void => {
    for (const file of readdirSync(folder)) {
      if (!WAITS.test(file) || sizes.has(file)) continue;
      // Undefined: another process has taken it meanwhile.
      const bytes = statSync(join(folder, file), { throwIfNoEntry: false })?.size;
      if (bytes !== undefined) sizes.set(file, { bytes, messages: 0 });
    }
  };

  /** An empty file under the next free number: another process cannot take the same, and our draft replaces it. */
  const reserve = (): string => {
    for (;;) {
      lastNumber += 1;
      const file = `${String(lastNumber).padStart(12, "0")}.jsonl`;
      try {
        closeSync(openSync(join(folder, file), "wx", 0o600));
        return file;
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
      }
    }
  };

  const removeIfOld = async (draft: string): Promise<void> => {
    const { mtimeMs } = await stat(draft);
    if (Date.now() - mtimeMs > OLD_DRAFT_MS) await unlink(draft);
  };

  /** The name under which a file waits for us; undefined for another process's. */
  const waitingName = async (file: string): Promise<string | undefined> => {
    if (WAITS.test(file)) return file;
    const [, waiting, , pid] = TAKEN.exec(file) ?? [];
    if (waiting === undefined || (Number(pid) !== process.pid && isAlive(Number(pid)))) return undefined;
    await rename(join(folder, file), join(folder, waiting));
    return waiting;
  };

  const lookAt = async (file: string): Promise<void> => {
    if (file.endsWith(DRAFT)) await removeIfOld(join(folder, file));
    const waiting = await waitingName(file);
    if (waiting === undefined) return;
    const { size } = await stat(join(folder, waiting));
    const { messages } = readMessages(await readFile(join(folder, waiting), "utf8"));
    sizes.set(waiting, { bytes: size, messages: messages.length });
  };

  const appendNow = (batch: Batch): Kept => {
    try {
      write(batch);
      return "kept";
    } catch (error) {
      return { reason: `The spool cannot keep the batch: ${reasonOf(error)}` };
    }
  };

  return {
    get messages() {
      return total("messages");
    },

    async open() {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        for (const file of (await readdir(folder)).sort()) {
          lastNumber = Math.max(lastNumber, numberOf(file));
          // Another process may take it meanwhile: then it is none of ours, and the next one is looked at.
          await lookAt(file).catch(() => sizes.delete(file));
        }
        isOpen = true;
      } catch {
        // A directory that cannot be read holds nothing for us; writing to it will say why.
      }
    },

    append: async (batch) => appendNow(batch),

    appendNow,

    async oldest() {
      for (const file of [...sizes.keys()].sort()) {
        const taken = join(folder, `${file}.${process.pid}.taken`);
        try {
          // It has our name already where the last try to send it failed.
          if (!existsSync(taken)) await rename(join(folder, file), taken);
          const { messages, damaged } = readMessages(await readFile(taken, "utf8"));
          const remove = async (): Promise<void> => {
            sizes.delete(file);
            await unlink(taken).catch(() => {});
          };
          if (messages.length > 0 || damaged.length > 0)
            return { batch: messages, file: join(folder, file), damaged, remove };
          await remove();
        } catch {
          // Another process took it, or nobody can read it.
          sizes.delete(file);
        }
      }
      return undefined;
    },
  };
}

function folderName({ writeKey, batchUrl }: SpoolDirectoryOptions, crypto: BuiltIns["crypto"]): string {
  return crypto.createHash("sha256").update(`${writeKey}\n${batchUrl}`).digest("hex").slice(0, 16);
}

const DRAFT = ".draft";
/** A draft is whole within moments; one of this age was left by a process that ended while it wrote. */
const OLD_DRAFT_MS = 60 * 60 * 1_000;

const WAITS = /^(\d{12})\.jsonl$/;
const TAKEN = /^((\d{12})\.jsonl)\.(\d+)\.taken$/;

function numberOf(file: string): number {
  return Number(WAITS.exec(file)?.[1] ?? TAKEN.exec(file)?.[2] ?? 0);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: there is such a process, of another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
