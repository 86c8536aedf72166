import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AUDIENCE, type Audiences, COMPUTED_TRAIT } from "@sluice/audiences";
import { DOCUMENT_KINDS, type SnapshotInfo, type Snapshots, type Store } from "@sluice/event-log";
import { formatTime, KB } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { createTarPacker } from "modern-tar";
import { DELETION } from "../deletions/deletion.js";
import { CollectorError } from "../errors.js";
import { type BackupInfo, CHECKSUMS_FILE, INFO_FILE, newInfo } from "./read-archive.js";

/** How much is read at once. Other requests to the store wait for it. */
export const PIECE_BYTES = KB * KB;

/** Small files of the data folder that belong to a backup, besides the databases. */
const KEY_FILE = "secret.key";
const SMALL_FILES = [KEY_FILE, "admin-token", "dev.json"];

/** Kinds of documents that are counted. */
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
  /** The backup as a tar archive. Read it once. */
  archive(): AsyncGenerator<Uint8Array>;
  /** Drops the state, and resolves when another backup can begin. May be called more than once. */
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
  const { audiences, clock } = options;
  const { profiles, log } = await audiences.beginSnapshot(() => snapshots.begin());
  const createdAtMs = clock.now();
  let ending: Promise<void> | undefined;
  const end = (): Promise<void> => {
    // Fails only if the store is unavailable, and then the snapshot is gone too.
    ending ??= Promise.allSettled([snapshots.end(), audiences.snapshot.end()]).then(ended);
    return ending;
  };
  try {
    const read = { clock, isEnded: () => ending !== undefined };
    const files = [
      ...(await smallFiles(options)),
      snapshotReader(log, snapshots, read),
      ...(profiles === undefined ? [] : [snapshotReader(profiles, audiences.snapshot, read)]),
    ];
    const info = await describe(options, files, createdAtMs);
    return { archive: () => archive(files, info, createdAtMs), end };
  } catch (error) {
    await end();
    throw error;
  }
}

function snapshotReader(
  info: SnapshotInfo,
  snapshot: Pick<Snapshots, "read">,
  { clock, isEnded }: { readonly clock: Clock; readonly isEnded: () => boolean },
): FileReader {
  return {
    info,
    async read(at, bytes) {
      // It would be a read of the next snapshot, which would take its pages for copied.
      if (isEnded()) throw new CollectorError("storage_unavailable", "the backup was ended");
      const beganMs = clock.monotonic();
      const piece = await snapshot.read(at, bytes);
      // Requests get at least half of the time of the store and of the disk.
      await clock.sleep(clock.monotonic() - beganMs);
      return piece;
    },
  };
}

async function describe(
  { store, version, isKeyInEnvironment }: BackupsOptions,
  files: readonly FileReader[],
  createdAtMs: number,
): Promise<BackupInfo> {
  const documents: Record<string, number> = {};
  for (const kind of COUNTED) documents[kind] = (await store.config.list(kind)).length;
  return newInfo({
    createdAt: formatTime(createdAtMs),
    version,
    secretKey: isKeyInEnvironment ? "environment" : "included",
    counts: { messages: store.stats().messages, documents },
    layouts: Object.fromEntries(
      files.flatMap(({ info: { file, layout } }) => (layout === undefined ? [] : [[file, layout]])),
    ),
  });
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
    readers.push(fileOf(file, contents));
  }
  return readers;
}

async function* archive(
  files: readonly FileReader[],
  info: BackupInfo,
  nowMs: number,
): AsyncGenerator<Uint8Array> {
  const { readable, controller } = createTarPacker();
  const packing = pack(controller, files, info, nowMs).catch((error: unknown) => controller.error(error));
  yield* readable;
  await packing;
}

async function pack(
  tar: ReturnType<typeof createTarPacker>["controller"],
  files: readonly FileReader[],
  info: BackupInfo,
  nowMs: number,
): Promise<void> {
  const mtime = new Date(nowMs);
  const checksums: string[] = [];
  const add = async ({ info: { file, bytes }, read }: FileReader): Promise<void> => {
    const hash = createHash("sha256");
    const entry = tar.add({ name: file, size: bytes, mode: 0o600, mtime }).getWriter();
    for (let at = 0; at < bytes; at += PIECE_BYTES) {
      const piece = await read(at, Math.min(PIECE_BYTES, bytes - at));
      hash.update(piece);
      await entry.write(piece);
    }
    await entry.close();
    checksums.push(`${hash.digest("hex")}  ${file}\n`);
  };
  await add(fileOf(INFO_FILE, Buffer.from(`${JSON.stringify(info, null, 2)}\n`)));
  for (const file of files) await add(file);
  await add(fileOf(CHECKSUMS_FILE, Buffer.from(checksums.join(""))));
  tar.finalize();
}

function fileOf(file: string, contents: Uint8Array): FileReader {
  return {
    info: { file, bytes: contents.byteLength },
    read: async (at, bytes) => contents.subarray(at, at + bytes),
  };
}
