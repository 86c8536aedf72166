import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AUDIENCE, type Audiences, COMPUTED_TRAIT } from "@sluice/audiences";
import { DOCUMENT_KINDS, type SnapshotInfo, type Snapshots, type Store } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { DELETION, type DeletionDocument } from "../deletions/deletion.js";
import { newId } from "../documents/new-id.js";
import { CollectorError } from "../errors.js";
import {
  type BackedUpDeletion,
  type BackupFile,
  type BackupManifest,
  encodeManifest,
  manifestName,
  newManifest,
  PIECE_BYTES,
  pieceName,
} from "./manifest.js";
import { tarEnd, tarEntry } from "./tar.js";

/** Small files of the data folder that belong to a backup, besides the databases. */
const KEY_FILE = "secret.key";
const SMALL_FILES = [KEY_FILE, "admin-token", "dev.json"];

/** Kinds of documents that a manifest counts. */
const COUNTED = [DOCUMENT_KINDS.source, DOCUMENT_KINDS.destination, AUDIENCE, COMPUTED_TRAIT, DELETION];

export interface BackupsOptions {
  readonly store: Store;
  readonly audiences: Pick<Audiences, "beginSnapshot" | "snapshot">;
  readonly clock: Clock;
  readonly dataDirectory: string;
  readonly version: string;
  /** Whether the key of the secrets is in the environment and not in the data folder. */
  readonly isKeyInEnvironment: boolean;
}

/** Backups of the running collector. */
export interface Backups {
  /** Keeps the state of now until the backup is ended. Rejects with `conflict` while another one is read. */
  begin(): Promise<RunningBackup>;
}

export interface RunningBackup {
  /** The backup as a tar archive, manifest last. Leaves out the pieces that `isKnown`. Read it once. */
  archive(isKnown: (hash: string) => boolean): AsyncGenerator<Uint8Array>;
  /** Drops the state. May be called more than once. */
  end(): Promise<void>;
}

/** A file of the backup and how to read it. */
interface FileReader {
  readonly info: { readonly file: string; readonly bytes: number; readonly layout?: number };
  read(at: number, bytes: number): Promise<Uint8Array>;
}

export function startBackups(options: BackupsOptions): Backups {
  let isRunning = false;
  return {
    async begin() {
      const { snapshots } = options.store;
      if (snapshots === undefined)
        throw new CollectorError(
          "conflict",
          "this collector keeps its data in memory: there is nothing to back up",
        );
      if (isRunning)
        throw new CollectorError(
          "conflict",
          "another backup of this collector is running: wait until it has ended",
        );
      isRunning = true;
      try {
        return await beginBackup(options, snapshots, () => {
          isRunning = false;
        });
      } catch (error) {
        isRunning = false;
        throw error;
      }
    },
  };
}

async function beginBackup(
  options: BackupsOptions,
  snapshots: Snapshots,
  ended: () => void,
): Promise<RunningBackup> {
  const { store, audiences, clock } = options;
  const origin = await originOf(store);
  const { profiles, log } = await audiences.beginSnapshot(() => snapshots.begin());
  const createdAtMs = clock.now();
  let isEnded = false;
  const end = async (): Promise<void> => {
    if (isEnded) return;
    isEnded = true;
    // Fails only if the store is unavailable, and then the snapshot is gone too.
    await Promise.allSettled([snapshots.end(), audiences.snapshot.end()]);
    ended();
  };
  try {
    const files: FileReader[] = [
      ...(await smallFiles(options)),
      { info: log, read: (at, bytes) => snapshots.read(at, bytes) },
      ...(profiles === undefined ? [] : [profileReader(profiles, audiences)]),
    ];
    const described = await describe(options, origin, createdAtMs);
    const readers = files.map((file) => whileOpen(file, () => isEnded));
    return { archive: (isKnown) => archive(readers, described, isKnown, clock), end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** A read after the end would be one of the next snapshot, which would take its pages for copied. */
function whileOpen({ info, read }: FileReader, isEnded: () => boolean): FileReader {
  return {
    info,
    async read(at, bytes) {
      if (isEnded()) throw new CollectorError("storage_unavailable", "the backup was ended");
      return read(at, bytes);
    },
  };
}

function profileReader(info: SnapshotInfo, { snapshot }: BackupsOptions["audiences"]): FileReader {
  return { info, read: (at, bytes) => snapshot.read(at, bytes) };
}

type Described = Omit<Parameters<typeof newManifest>[0], "files">;

/**
 * Everything of the manifest but the files. Deletions are read after the beginning of the snapshot: one too many does no harm, but a
 * missing one would bring its users back.
 */
async function describe(
  { store, version, isKeyInEnvironment }: BackupsOptions,
  origin: string,
  createdAtMs: number,
): Promise<Described> {
  const documents: Record<string, number> = {};
  for (const kind of COUNTED) documents[kind] = (await store.config.list(kind)).length;
  return {
    createdAt: formatTime(createdAtMs),
    origin,
    version,
    secretKey: isKeyInEnvironment ? "environment" : "included",
    counts: { messages: store.stats().messages, documents },
    deletions: (await store.config.list<DeletionDocument>(DELETION)).map(({ id, value }) =>
      deletionOf(id, value),
    ),
  };
}

function deletionOf(
  id: string,
  { createdAt, suppress, includeAliases = false, receipt }: DeletionDocument,
): BackedUpDeletion {
  const users = receipt.users.map(({ idHmac, kind }) => ({ idHmac, kind }));
  return { id, createdAt, suppress, includeAliases, users };
}

/** The id that all backups of this data have. The first backup stores it. */
async function originOf({ config }: Store): Promise<string> {
  const kind = DOCUMENT_KINDS.backupOrigin;
  const known = await config.get<{ readonly origin: string }>(kind, "origin");
  if (known !== undefined) return known.value.origin;
  return (await config.put(kind, "origin", { origin: newId("org") })).value.origin;
}

async function smallFiles({ dataDirectory, isKeyInEnvironment }: BackupsOptions): Promise<FileReader[]> {
  const readers: FileReader[] = [];
  for (const file of SMALL_FILES) {
    // A key file that is not used would only confuse.
    if (file === KEY_FILE && isKeyInEnvironment) continue;
    const contents = await readFile(join(dataDirectory, file)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (contents === undefined) continue;
    const read = async (at: number, bytes: number): Promise<Uint8Array> => contents.subarray(at, at + bytes);
    readers.push({ info: { file, bytes: contents.byteLength }, read });
  }
  return readers;
}

async function* archive(
  readers: readonly FileReader[],
  described: Described,
  isKnown: (hash: string) => boolean,
  clock: Clock,
): AsyncGenerator<Uint8Array> {
  const modifiedMs = clock.now();
  const sent = new Set<string>();
  const files: BackupFile[] = [];
  for (const { info, read } of readers) {
    const pieces: string[] = [];
    for (let at = 0; at < info.bytes; at += PIECE_BYTES) {
      const beganMs = clock.monotonic();
      const piece = await read(at, Math.min(PIECE_BYTES, info.bytes - at));
      const hash = await hashOf(piece);
      pieces.push(hash);
      // Requests get at least half of the time of the store and of the disk.
      await clock.sleep(clock.monotonic() - beganMs);
      if (sent.has(hash) || isKnown(hash)) continue;
      sent.add(hash);
      yield tarEntry(pieceName(hash), piece, modifiedMs);
    }
    const { file: name, bytes, layout } = info;
    files.push({ name, bytes, ...(layout === undefined ? {} : { layout }), pieces });
  }
  const manifest: BackupManifest = newManifest({ ...described, files });
  yield tarEntry(manifestName(manifest), encodeManifest(manifest), modifiedMs);
  yield tarEnd();
}

/** Not in this thread, which answers requests meanwhile. */
async function hashOf(piece: Uint8Array): Promise<string> {
  return Buffer.from(await crypto.subtle.digest("SHA-256", piece as Uint8Array<ArrayBuffer>)).toString("hex");
}
