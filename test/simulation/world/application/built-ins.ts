import crypto from "node:crypto";
import { EventEmitter } from "node:events";
import path from "node:path";
import type { BuiltIns } from "../../../../packages/node/src/spool/built-ins.js";
import type { ProcessClock } from "../machine.js";
import type { World } from "../world.js";
import {
  type ApplicationDisk,
  change,
  type Entry,
  type File,
  type Folder,
  newDirectory,
  newFile,
  sync,
} from "./disk.js";

/** What a process needs to use the disk. */
export interface DiskUser {
  readonly world: World;
  readonly name: string;
  readonly clock: ProcessClock;
  /** Called before each change of the disk. May end the process: then the call throws, and so do all later ones. */
  readonly beforeChange: () => void;
}

/** Where processes of the machine listen, by path. */
export type Listeners = Map<string, ProcessClock>;

const ASYNC_MS = 1;

/** The modules of Node.js that the spool uses, for one process on a simulated disk. */
export function simulatedBuiltIns(disk: ApplicationDisk, listeners: Listeners, user: DiskUser): BuiltIns {
  const files = new ProcessFiles(disk, user);
  const { world, clock, name } = user;
  const later =
    <Arguments extends unknown[], Result>(call: (...given: Arguments) => Result) =>
    (...given: Arguments): Promise<Result> =>
      new Promise((resolve, reject) => {
        world.after(Math.floor(clock.random() * 2) * ASYNC_MS, () => {
          if (!clock.isAlive) return;
          try {
            resolve(call(...given));
          } catch (error) {
            if (clock.isAlive) reject(error);
          }
        });
      });
  const fs = {
    openSync: files.open,
    writeSync: files.write,
    fsyncSync: files.fsync,
    closeSync: files.close,
    unlinkSync: files.unlink,
    renameSync: files.rename,
    mkdirSync: files.mkdir,
    readdirSync: files.readdir,
    readFileSync: (at: string) =>
      at.startsWith("/proc/") ? `boot ${name} ${disk.boots}` : files.readFile(at),
    existsSync: files.exists,
    statSync: files.stat,
    promises: {
      mkdir: later(files.mkdir),
      readdir: later(files.readdir),
      readFile: later(files.readFile),
      rename: later(files.rename),
      stat: later(files.stat),
      unlink: later(files.unlink),
      utimes: later(files.touch),
    },
  };
  return {
    crypto,
    fs,
    net: simulatedNet(files, listeners, user),
    os: { hostname: () => name },
    path,
  } as unknown as BuiltIns;
}

/** Calls that end at once. */
class ProcessFiles {
  readonly #disk: ApplicationDisk;
  readonly #user: DiskUser;
  readonly #open = new Map<number, Entry>();
  #opened = 2;

  constructor(disk: ApplicationDisk, user: DiskUser) {
    this.#disk = disk;
    this.#user = user;
  }

  readonly open = (at: string, flags: string): number => {
    if (flags === "wx") {
      this.#changes();
      if (this.#find(at) !== undefined) throw failure("EEXIST", at);
      change(this.#folder(path.dirname(at)), new Map([[path.basename(at), newFile(this.#nowMs)]]));
    }
    this.#opened += 1;
    this.#open.set(this.#opened, this.#get(at));
    return this.#opened;
  };

  /** A full disk takes what fits, and only then fails. */
  readonly write = (descriptor: number, bytes: Uint8Array, from: number, length: number): number => {
    this.#changes();
    const file = this.#open.get(descriptor) as File;
    const fits = Math.min(length, this.#disk.freeBytes);
    if (fits === 0) throw failure("ENOSPC", "a write");
    this.#disk.freeBytes -= fits;
    file.bytes = Buffer.concat([file.bytes, bytes.subarray(from, from + fits)]);
    file.modifiedAtMs = this.#nowMs;
    return fits;
  };

  readonly fsync = (descriptor: number): void => {
    this.#changes();
    sync(this.#open.get(descriptor) as Entry);
  };

  readonly close = (descriptor: number): void => {
    this.#open.delete(descriptor);
  };

  readonly unlink = (at: string): void => {
    this.#changes();
    const entry = this.#get(at);
    if (entry.kind === "file") this.#disk.freeBytes += entry.bytes.length;
    change(this.#folder(path.dirname(at)), new Map([[path.basename(at), undefined]]));
  };

  readonly rename = (from: string, to: string): void => {
    this.#changes();
    const moved = this.#get(from);
    const names = new Map<string, Entry | undefined>([[path.basename(from), undefined]]);
    change(this.#folder(path.dirname(from)), names.set(path.basename(to), moved));
  };

  /** Returns the first folder that was made, as Node.js does. */
  readonly mkdir = (at: string): string | undefined => {
    if (this.#find(at) !== undefined) return undefined;
    this.#changes();
    const above = this.mkdir(path.dirname(at));
    change(this.#folder(path.dirname(at)), new Map([[path.basename(at), newDirectory()]]));
    return above ?? at;
  };

  readonly readdir = (at: string): string[] => [...this.#folder(at).entries.keys()];

  readonly readFile = (at: string): string => (this.#get(at) as File).bytes.toString("utf8");

  readonly exists = (at: string): boolean => this.#find(at) !== undefined;

  /** The product compares the time of a file with the real clock. What counts is its age. */
  readonly stat = (at: string, { throwIfNoEntry = true } = {}): unknown => {
    const file = this.#find(at) as File | undefined;
    if (file === undefined && !throwIfNoEntry) return undefined;
    const { bytes, modifiedAtMs } = this.#get(at) as File;
    return { size: bytes.length, mtimeMs: Date.now() - (this.#nowMs - modifiedAtMs) };
  };

  readonly touch = (at: string): void => {
    this.#changes();
    (this.#get(at) as File).modifiedAtMs = this.#nowMs;
  };

  /** A socket has a name in its folder. */
  readonly addSocket = (at: string): void => {
    this.#changes();
    change(this.#folder(path.dirname(at)), new Map([[path.basename(at), newFile(this.#nowMs)]]));
  };

  get #nowMs(): number {
    return this.#user.clock.now();
  }

  #changes(): void {
    this.#user.beforeChange();
    if (!this.#user.clock.isAlive) throw failure("EIO", "a process that has ended");
  }

  #folder(at: string): Folder {
    const entry = this.#get(at);
    if (entry.kind !== "folder") throw failure("ENOTDIR", at);
    return entry;
  }

  #get(at: string): Entry {
    const found = this.#find(at);
    if (found === undefined) throw failure("ENOENT", at);
    return found;
  }

  #find(at: string): Entry | undefined {
    let found: Entry | undefined = this.#disk.root;
    for (const name of at.split("/")) {
      if (name === "") continue;
      found = found?.kind === "folder" ? found.entries.get(name) : undefined;
    }
    return found;
  }
}

function failure(code: string, what: string): Error {
  return Object.assign(new Error(`${code}: ${what}`), { code });
}

/** Sockets in folders. A process that has ended listens no more, and leaves the name behind. */
function simulatedNet(files: ProcessFiles, listeners: Listeners, { world, clock }: DiskUser): object {
  const soon = (run: () => void): void => {
    world.after(0, () => {
      if (clock.isAlive) run();
    });
  };
  return {
    createServer() {
      let at = "";
      return Object.assign(new EventEmitter(), {
        unref: () => {},
        listen({ path: address }: { path: string }, listening: () => void) {
          at = address;
          files.addSocket(at);
          listeners.set(at, clock);
          soon(listening);
        },
        close(closed: () => void) {
          listeners.delete(at);
          soon(closed);
        },
      });
    },
    connect({ path: address }: { path: string }) {
      const connection = Object.assign(new EventEmitter(), { destroy: () => {} });
      soon(() => {
        if (listeners.get(address)?.isAlive === true) connection.emit("connect");
        else connection.emit("error", failure(files.exists(address) ? "ECONNREFUSED" : "ENOENT", address));
      });
      return connection;
    },
  };
}
