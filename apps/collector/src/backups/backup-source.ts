import { createReadStream } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { BackupFolder, isFolder, throwFailure } from "./backup-folder.js";
import { type BackupList, damageText, entryKind, listManifests, UnusableBackup } from "./manifest.js";
import { readTar } from "./tar.js";

/** Where backups are restored from: a folder, or an archive. */
export interface BackupSource {
  readonly list: BackupList;
  /** A piece, unchecked; undefined if it is missing. */
  readPiece(hash: string): Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

/** Throws `UnusableBackup` if there are no backups at the path. */
export async function openBackupSource(path: string): Promise<BackupSource> {
  if ((await stat(path).catch(() => undefined)) === undefined)
    throw new UnusableBackup(`there is no backup at ${path}`);
  const source = (await isFolder(path)) ? await openFolder(path) : await openArchive(path);
  const { manifests, damaged } = source.list;
  if (manifests.length > 0) return source;
  await source.close();
  throw new UnusableBackup(
    damaged.length === 0
      ? `${path} holds no complete backup`
      : `${path} holds no usable backup: ${damaged.map(damageText).join("; ")}`,
  );
}

async function openFolder(path: string): Promise<BackupSource> {
  const folder = new BackupFolder(path);
  return {
    list: await folder.list(),
    readPiece: (hash) => folder.readPiece(hash),
    close: async () => {},
  };
}

/** Reads the archive once to find its pieces. */
async function openArchive(path: string): Promise<BackupSource> {
  const manifests = new Map<string, Uint8Array>();
  const places = new Map<string, { readonly at: number; readonly bytes: number }>();
  for await (const entry of readTar(createReadStream(path, { highWaterMark: 1_024 * 1_024 }))) {
    const kind = entryKind(entry.name);
    if (kind?.kind === "piece") places.set(kind.hash, { at: entry.at, bytes: entry.bytes.byteLength });
    else if (kind?.kind === "manifest") manifests.set(entry.name, entry.bytes);
    else throwFailure(entry);
  }
  const list = await listManifests(
    [...manifests.keys()],
    async (name) => manifests.get(name) ?? new Uint8Array(),
  );
  const handle = await open(path, "r");
  return {
    list,
    readPiece: (hash) => readPlace(handle, places.get(hash)),
    close: () => handle.close(),
  };
}

async function readPlace(
  handle: FileHandle,
  place: { readonly at: number; readonly bytes: number } | undefined,
): Promise<Uint8Array | undefined> {
  if (place === undefined) return undefined;
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(place.bytes), 0, place.bytes, place.at);
  return buffer.subarray(0, bytesRead);
}
