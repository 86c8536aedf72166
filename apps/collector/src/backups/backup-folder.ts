import { existsSync } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { lockFolder } from "./folder-lock.js";
import {
  type BackupList,
  type BackupManifest,
  type DamagedManifest,
  decodeManifest,
  entryKind,
  listManifests,
  manifestName,
  pieceName,
  sha256,
  UnusableBackup,
} from "./manifest.js";
import { readTar, type TarEntry } from "./tar.js";
import { encodeKnown, FAILURE_NAME } from "./transfer.js";

export interface TakenBackup {
  readonly manifest: BackupManifest;
  /** What was copied. The rest is in earlier backups. */
  readonly copiedBytes: number;
  /** Ids of older backups that were removed. */
  readonly removed: readonly string[];
  /** Earlier backups that cannot be used. While there are any, no pieces are removed, because theirs are unknown. */
  readonly damaged: readonly DamagedManifest[];
}

export interface VerifiedBackup {
  readonly manifest: BackupManifest;
  /** Pieces that are missing or damaged. Empty: the backup can be restored. */
  readonly bad: readonly string[];
}

export interface VerifiedFolder {
  /** Oldest first. */
  readonly backups: readonly VerifiedBackup[];
  /** Backups whose manifest is damaged. */
  readonly damaged: readonly DamagedManifest[];
}

/** Ends the name of a file that is being written. */
const DRAFT = ".draft";

/**
 * A folder with backups of one collector:
 *
 *   backups/ID.json     the manifest of each backup
 *   pieces/ab/HASH      the pieces of all backups, each once
 *
 * A piece is written under another name and renamed, and the manifest comes last. So whatever ends a backup, every manifest in the folder
 * has its pieces.
 */
export class BackupFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
  }

  async list(): Promise<BackupList> {
    const names = (await readdir(join(this.path, "backups")).catch(noEntries)).map((one) => `backups/${one}`);
    return listManifests(
      names.filter((name) => entryKind(name)?.kind === "manifest"),
      (name) => readFile(join(this.path, name)),
    );
  }

  async readPiece(hash: string): Promise<Uint8Array | undefined> {
    return readFile(join(this.path, pieceName(hash))).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
  }

  /**
   * Stores a backup. `request` is called with the pieces that the folder has, and returns the archive. With `keep`, only the newest
   * backups stay afterwards. If it fails, the folder holds what it held before.
   */
  async take(
    request: (known: string) => Promise<AsyncIterable<Uint8Array>>,
    { keep = Number.POSITIVE_INFINITY }: { readonly keep?: number } = {},
  ): Promise<TakenBackup> {
    await this.#make();
    const unlock = lockFolder(this.path);
    if (unlock === undefined) throw new UnusableBackup(`another backup into ${this.path} is running`);
    try {
      const { manifests: earlier, damaged } = await this.list();
      // Pieces of a backup that was killed.
      await this.#removeUnused({ manifests: earlier, damaged });
      const { manifest, copiedBytes } = await this.#copyOrNothing(request, earlier);
      const all = [...earlier, manifest];
      const removed = all.slice(0, Math.max(0, all.length - keep));
      for (const one of removed) await rm(join(this.path, manifestName(one)));
      if (removed.length > 0) await this.#removeUnused({ manifests: all.slice(removed.length), damaged });
      return { manifest, copiedBytes, removed: removed.map(({ id }) => id), damaged };
    } finally {
      unlock();
    }
  }

  /** Reads every piece of every backup and compares it with its checksum. */
  async verify(): Promise<VerifiedFolder> {
    const known = new Map<string, boolean>();
    const isGood = async (hash: string): Promise<boolean> => {
      const piece = known.has(hash) ? undefined : await this.readPiece(hash);
      const good = known.get(hash) ?? (piece !== undefined && sha256(piece) === hash);
      known.set(hash, good);
      return good;
    };
    const { manifests, damaged } = await this.list();
    const backups: VerifiedBackup[] = [];
    for (const manifest of manifests) {
      const bad: string[] = [];
      for (const hash of hashesOf([manifest])) if (!(await isGood(hash))) bad.push(hash);
      backups.push({ manifest, bad });
    }
    return { backups, damaged };
  }

  async #make(): Promise<void> {
    const names = await readdir(this.path).catch(noEntries);
    if (names.length > 0 && !names.includes("backups"))
      throw new UnusableBackup(
        `the folder ${this.path} is not empty and holds no backups: choose another one`,
      );
    for (const name of ["backups", "pieces"])
      await mkdir(join(this.path, name), { recursive: true, mode: 0o700 });
  }

  async #copyOrNothing(
    request: (known: string) => Promise<AsyncIterable<Uint8Array>>,
    earlier: readonly BackupManifest[],
  ): Promise<{ manifest: BackupManifest; copiedBytes: number }> {
    const added: string[] = [];
    try {
      return await this.#copy(await request(encodeKnown(hashesOf(earlier))), earlier, added);
    } catch (error) {
      for (const name of added) await rm(join(this.path, name), { force: true });
      throw error;
    }
  }

  /** Stores the manifest after everything that can fail: from then on its pieces must stay. Names new pieces in `added`. */
  async #copy(
    archive: AsyncIterable<Uint8Array>,
    earlier: readonly BackupManifest[],
    added: string[],
  ): Promise<{ manifest: BackupManifest; copiedBytes: number }> {
    let copiedBytes = 0;
    let last: { readonly manifest: BackupManifest; readonly entry: TarEntry } | undefined;
    for await (const entry of readTar(archive)) {
      const kind = entryKind(entry.name);
      if (kind?.kind === "piece") {
        if (sha256(entry.bytes) !== kind.hash)
          throw new UnusableBackup("the backup was damaged on its way: a checksum is wrong. Try again");
        if (!existsSync(join(this.path, entry.name))) added.push(entry.name);
        await this.#write(entry.name, entry.bytes);
        copiedBytes += entry.bytes.byteLength;
      } else if (kind?.kind === "manifest") {
        last = { manifest: decodeManifest(entry.bytes, "the manifest"), entry };
      } else throwFailure(entry);
    }
    if (last === undefined) throw new UnusableBackup("the backup has no manifest");
    const { manifest, entry } = last;
    this.#checkOrigin(manifest, earlier);
    await this.#checkComplete(manifest);
    await this.#write(manifestName(manifest), entry.bytes);
    return { manifest, copiedBytes };
  }

  #checkOrigin({ origin }: BackupManifest, earlier: readonly BackupManifest[]): void {
    if (earlier.some((one) => one.origin !== origin))
      throw new UnusableBackup(
        `the folder ${this.path} holds backups of another collector: use a folder for each`,
      );
  }

  async #checkComplete(manifest: BackupManifest): Promise<void> {
    for (const hash of hashesOf([manifest]))
      if (!existsSync(join(this.path, pieceName(hash))))
        throw new UnusableBackup(
          `a piece of an earlier backup is missing in ${this.path}: check it with --verify`,
        );
  }

  async #write(name: string, bytes: Uint8Array): Promise<void> {
    const file = join(this.path, name);
    await mkdir(resolve(file, ".."), { recursive: true, mode: 0o700 });
    const draft = `${file}${DRAFT}`;
    try {
      const handle = await open(draft, "w", 0o600);
      try {
        await handle.writeFile(bytes);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(draft, file);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  /** Removes drafts, and the pieces that no backup uses. Which pieces a damaged manifest names is unknown, so that all stay beside one. */
  async #removeUnused({ manifests, damaged }: BackupList): Promise<void> {
    const used = hashesOf(manifests);
    const isUnused = (name: string): boolean =>
      name.endsWith(DRAFT) || (damaged.length === 0 && !used.has(name));
    const pieces = join(this.path, "pieces");
    for (const folder of await readdir(pieces).catch(noEntries))
      for (const name of await readdir(join(pieces, folder)).catch(noEntries))
        if (isUnused(name)) await rm(join(pieces, folder, name), { force: true });
    for (const name of await readdir(join(this.path, "backups")).catch(noEntries))
      if (name.endsWith(DRAFT)) await rm(join(this.path, "backups", name), { force: true });
  }
}

export function hashesOf(manifests: readonly BackupManifest[]): Set<string> {
  return new Set(manifests.flatMap(({ files }) => files.flatMap(({ pieces }) => pieces)));
}

/** Throws if an entry says that the backup failed. */
export function throwFailure({ name, bytes }: TarEntry): void {
  if (name === FAILURE_NAME)
    throw new UnusableBackup(`the collector gave the backup up: ${Buffer.from(bytes).toString()}`);
}

export async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function noEntries(error: NodeJS.ErrnoException): string[] {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
  throw error;
}
