import { createHash } from "node:crypto";
import { endianness } from "node:os";
import { STORE_LAYOUTS } from "@sluice/event-log";
import { isPlainObject, KB } from "@sluice/protocol";

const FORMAT = 1;

/** Files are cut into pieces of this size. A piece that an earlier backup has is not copied again. */
export const PIECE_BYTES = KB * KB;

/** A file of the data folder. */
export interface BackupFile {
  readonly name: string;
  readonly bytes: number;
  /** The version of a database's layout. */
  readonly layout?: number;
  /** The SHA-256 of each piece, in order. */
  readonly pieces: readonly string[];
}

/** A deletion of users that the collector was asked for. Its users are named by keyed digests only. */
export interface BackedUpDeletion {
  readonly id: string;
  readonly createdAt: string;
  readonly suppress: boolean;
  readonly includeAliases: boolean;
  readonly users: readonly { readonly idHmac: string; readonly kind: string }[];
}

/** What a backup consists of. It is written last: a backup without it is not complete. */
export interface BackupManifest {
  readonly format: number;
  /** Sorts by time. */
  readonly id: string;
  /** Everything that was acknowledged before is in it. */
  readonly createdAt: string;
  /** The same for all backups of a collector, and of those restored from one. */
  readonly origin: string;
  /** The collector's version. */
  readonly version: string;
  readonly node: string;
  readonly platform: string;
  readonly byteOrder: string;
  /** `environment`: the key of the secrets is not in the backup, because it is in `SLUICE_SECRET_KEY`. */
  readonly secretKey: "included" | "environment";
  readonly counts: { readonly messages: number; readonly documents: { readonly [kind: string]: number } };
  readonly files: readonly BackupFile[];
  readonly deletions: readonly BackedUpDeletion[];
}

/** A backup that cannot be used. The message is for the person who restores it. */
export class UnusableBackup extends Error {
  override readonly name = "UnusableBackup";
}

export function newManifest(
  fields: Omit<BackupManifest, "format" | "id" | "node" | "platform" | "byteOrder">,
): BackupManifest {
  const { createdAt } = fields;
  return {
    format: FORMAT,
    id: idOfTime(createdAt),
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    byteOrder: endianness(),
    ...fields,
  };
}

export function idOfTime(createdAt: string): string {
  return createdAt.replace(/[^0-9TZ]/g, "");
}

/** The manifest as stored: its checksum in the first line, then its JSON. */
export function encodeManifest(manifest: BackupManifest): Buffer {
  const json = Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`);
  return Buffer.concat([Buffer.from(`sluice-backup sha256 ${sha256(json)}\n`), json]);
}

const FIRST_LINE = /^sluice-backup sha256 ([0-9a-f]{64})\n/;
const FIRST_LINE_BYTES = "sluice-backup sha256 ".length + 64 + 1;

/** A manifest that cannot be used. Its backup is lost, and which pieces it has is unknown. */
export interface DamagedManifest {
  readonly id: string;
  /** Follows "the manifest": "is damaged: its checksum is wrong". */
  readonly reason: string;
}

export function damageText({ id, reason }: DamagedManifest): string {
  return `the manifest of backup ${id} ${reason}`;
}

/** The backups at a place, oldest first. */
export interface BackupList {
  readonly manifests: readonly BackupManifest[];
  readonly damaged: readonly DamagedManifest[];
}

/** Reads manifests by their names. One that is damaged or cannot be read does not keep the others from being used. */
export async function listManifests(
  names: readonly string[],
  read: (name: string) => Promise<Uint8Array>,
): Promise<BackupList> {
  const manifests: BackupManifest[] = [];
  const damaged: DamagedManifest[] = [];
  for (const name of [...names].sort()) {
    const id = MANIFEST_NAME.exec(name)?.[1] ?? name;
    const parsed = await read(name).then(parseManifest, (error: NodeJS.ErrnoException) => ({
      reason: `cannot be read (${error.code ?? error.message})`,
    }));
    if ("reason" in parsed) damaged.push({ id, ...parsed });
    else if (parsed.manifest.id !== id) damaged.push({ id, reason: "names another backup" });
    else manifests.push(parsed.manifest);
  }
  return { manifests, damaged };
}

/** Throws `UnusableBackup`. `where`: the name for the error. */
export function decodeManifest(bytes: Uint8Array, where: string): BackupManifest {
  const parsed = parseManifest(bytes);
  if ("manifest" in parsed) return parsed.manifest;
  throw new UnusableBackup(`${where} ${parsed.reason}. Use another backup`);
}

type Parsed = { readonly manifest: BackupManifest } | { readonly reason: string };

function parseManifest(bytes: Uint8Array): Parsed {
  const checksum = FIRST_LINE.exec(Buffer.from(bytes.subarray(0, FIRST_LINE_BYTES)).toString("latin1"))?.[1];
  const json = bytes.subarray(FIRST_LINE_BYTES);
  if (checksum === undefined || sha256(json) !== checksum)
    return { reason: "is damaged: its checksum is wrong" };
  const manifest = parseJson(Buffer.from(json).toString());
  return namesOnlyItsOwn(manifest) ? { manifest } : { reason: "is no manifest that this version can read" };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const ID = /^\d{8}T\d+Z$/;
const HASH = /^[0-9a-f]{64}$/;

/** Whoever writes a manifest can write its checksum too. So its names and numbers are checked before they become paths and sizes. */
function namesOnlyItsOwn(value: unknown): value is BackupManifest {
  if (!isPlainObject(value)) return false;
  const { id, createdAt, version, origin, counts, files, deletions } = value;
  return (
    typeof id === "string" &&
    ID.test(id) &&
    [createdAt, version, origin].every((text) => typeof text === "string") &&
    isCounts(counts) &&
    Array.isArray(files) &&
    files.every(isBackupFile) &&
    Array.isArray(deletions) &&
    deletions.every(isDeletion)
  );
}

function isCounts(value: unknown): boolean {
  return (
    isPlainObject(value) &&
    typeof value.messages === "number" &&
    isPlainObject(value.documents) &&
    Object.values(value.documents).every((count) => typeof count === "number")
  );
}

function isDeletion(value: unknown): boolean {
  return (
    isPlainObject(value) &&
    typeof value.id === "string" &&
    Array.isArray(value.users) &&
    value.users.every((user) => isPlainObject(user) && typeof user.idHmac === "string")
  );
}

function isBackupFile(value: unknown): boolean {
  if (!isPlainObject(value)) return false;
  const { name, bytes, pieces } = value;
  return (
    typeof name === "string" &&
    name !== "" &&
    !/[/\\\0]|^\.+$/.test(name) &&
    Number.isSafeInteger(bytes) &&
    Number(bytes) >= 0 &&
    Array.isArray(pieces) &&
    pieces.every((hash) => typeof hash === "string" && HASH.test(hash))
  );
}

/** Throws `UnusableBackup` if this version, or this machine, cannot use the data. */
export function checkUsable({ format, version, byteOrder, files, id, platform }: BackupManifest): void {
  const tooNew = files.find(({ name, layout = 0 }) => layout > (STORE_LAYOUTS[name] ?? 0));
  if (format > FORMAT || tooNew !== undefined)
    throw new UnusableBackup(
      `the backup ${id} was made by a newer version (${version}): ${
        tooNew === undefined
          ? `its format is ${format}, this version knows ${FORMAT}`
          : `the layout of ${tooNew.name} is ${tooNew.layout}, this version knows up to ${STORE_LAYOUTS[tooNew.name] ?? 0}`
      }. Install that version or a newer one`,
    );
  if (byteOrder !== endianness())
    throw new UnusableBackup(
      `the backup ${id} is from a machine with another byte order (${platform}, ${byteOrder}): restore it on such a machine`,
    );
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Where a piece is in a backup folder or archive. */
export function pieceName(hash: string): string {
  return `pieces/${hash.slice(0, 2)}/${hash}`;
}

export function manifestName({ id }: Pick<BackupManifest, "id">): string {
  return `backups/${id}.json`;
}

const PIECE_NAME = /^pieces\/[0-9a-f]{2}\/([0-9a-f]{64})$/;
const MANIFEST_NAME = /^backups\/(\d{8}T\d+Z)\.json$/;

/** What an entry of a backup is; undefined if it is none. */
export function entryKind(
  name: string,
): { readonly kind: "piece"; readonly hash: string } | { readonly kind: "manifest" } | undefined {
  const hash = PIECE_NAME.exec(name)?.[1];
  if (hash !== undefined) return { kind: "piece", hash };
  return MANIFEST_NAME.test(name) ? { kind: "manifest" } : undefined;
}
