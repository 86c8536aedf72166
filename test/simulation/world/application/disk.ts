import type { Random } from "../random.js";
import type { World } from "../world.js";

/** A file. A power cut may lose what was not synced. */
export interface File {
  readonly kind: "file";
  bytes: Buffer;
  synced: Buffer;
  /** By the machine's clock. */
  modifiedAtMs: number;
}

/** A name in a folder changed: `node` is what it stands for now. A rename is one change of two names. */
type Change = ReadonlyMap<string, Entry | undefined>;

export interface Folder {
  readonly kind: "folder";
  entries: Map<string, Entry>;
  /** As it is on the disk, without the changes that were not synced. */
  synced: Map<string, Entry>;
  unsynced: Change[];
}

export type Entry = File | Folder;

export function newFile(modifiedAtMs: number): File {
  return { kind: "file", bytes: Buffer.alloc(0), synced: Buffer.alloc(0), modifiedAtMs };
}

export function newDirectory(): Folder {
  return { kind: "folder", entries: new Map(), synced: new Map(), unsynced: [] };
}

export function change(folder: Folder, names: Change): void {
  apply(folder.entries, names);
  folder.unsynced.push(names);
}

function apply(entries: Map<string, Entry>, names: Change): void {
  for (const [name, entry] of names) {
    if (entry === undefined) entries.delete(name);
    else entries.set(name, entry);
  }
}

export function sync(entry: Entry): void {
  if (entry.kind === "file") entry.synced = Buffer.from(entry.bytes);
  else {
    entry.synced = new Map(entry.entries);
    entry.unsynced = [];
  }
}

/** The disk of an application's machine, as POSIX has it: only what was synced survives a power cut for certain, files and names alike. */
export class ApplicationDisk {
  readonly root = newDirectory();
  readonly #world: World;
  readonly #random: Random;
  /** How many times the machine has booted. */
  boots = 1;
  /** Room for further bytes. */
  freeBytes = Number.POSITIVE_INFINITY;

  constructor(world: World, name: string) {
    this.#world = world;
    this.#random = world.random.fork(`disk of ${name}`);
  }

  /** The power fails. Of each folder the first few changes that were not synced are kept, and of each file some first bytes. */
  cutPower(): void {
    this.boots += 1;
    this.#lose(this.root);
  }

  /** The texts of all files below the root. */
  texts(folder: Folder = this.root): string[] {
    return [...folder.entries.values()].flatMap((entry) =>
      entry.kind === "file" ? [entry.bytes.toString("utf8")] : this.texts(entry),
    );
  }

  #lose(folder: Folder): void {
    const { unsynced } = folder;
    const kept = unsynced.length === 0 ? 0 : this.#random.integer(0, unsynced.length);
    if (unsynced.length > 0)
      this.#world.note(`power cut keeps ${kept} of ${unsynced.length} changes of a folder`);
    for (const names of unsynced.slice(0, kept)) apply(folder.synced, names);
    folder.entries = new Map(folder.synced);
    folder.unsynced = [];
    for (const entry of folder.entries.values()) {
      if (entry.kind === "folder") this.#lose(entry);
      else this.#tear(entry);
    }
  }

  /** The length may be on the disk before the bytes are: then they are zeros. */
  #tear(file: File): void {
    const unsynced = file.bytes.length - file.synced.length;
    if (unsynced > 0) {
      const keptTo = file.synced.length + this.#random.integer(0, unsynced);
      const zeros = Buffer.alloc(this.#random.chance(0.5) ? 0 : file.bytes.length - keptTo);
      file.bytes = Buffer.concat([file.bytes.subarray(0, keptTo), zeros]);
    }
    file.synced = file.bytes;
  }
}
