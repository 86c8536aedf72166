import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { endianness } from "node:os";
import { join } from "node:path";
import { STORE_LAYOUTS } from "@sluice/event-log";
import { isPlainObject } from "@sluice/protocol";
import { createTarDecoder } from "modern-tar";

/**
 * A backup is a tar archive with the files of a data folder as they were at one moment: `backup.json` first, which describes them, and
 * last `SHA256SUMS`, in the format of the program sha256sum. An archive without it is not complete.
 */
export const INFO_FILE = "backup.json";
export const CHECKSUMS_FILE = "SHA256SUMS";

const FORMAT = 1;

/** What a backup says about itself. */
export interface BackupInfo {
  readonly format: number;
  /** Everything that was acknowledged before is in it. */
  readonly createdAt: string;
  /** The collector's version. */
  readonly version: string;
  readonly platform: string;
  readonly byteOrder: string;
  /** `environment`: the key of the secrets is not in the backup, because it is in `SLUICE_SECRET_KEY`. */
  readonly secretKey: "included" | "environment";
  readonly counts: { readonly messages: number; readonly documents: { readonly [kind: string]: number } };
  /** The version of each database's layout. */
  readonly layouts: { readonly [file: string]: number };
}

/** A backup that cannot be used. The message is for the person who restores it. */
export class UnusableBackup extends Error {
  override readonly name = "UnusableBackup";
}

export function newInfo(fields: Omit<BackupInfo, "format" | "platform" | "byteOrder">): BackupInfo {
  return {
    format: FORMAT,
    platform: `${process.platform}-${process.arch}`,
    byteOrder: endianness(),
    ...fields,
  };
}

/** Throws `UnusableBackup` if it is none, or if this version, or this machine, cannot use the data. */
function readInfo(json: string): BackupInfo {
  const info = parse(json);
  if (!isInfo(info)) throw new UnusableBackup(`the backup is damaged: ${INFO_FILE} cannot be read`);
  const { format, version, byteOrder, platform } = info;
  const tooNew = Object.entries(info.layouts).find(([file, layout]) => layout > (STORE_LAYOUTS[file] ?? 0));
  if (format > FORMAT || tooNew !== undefined)
    throw new UnusableBackup(
      `the backup was made by a newer version (${version}): ${
        tooNew === undefined
          ? `its format is ${format}, this version knows ${FORMAT}`
          : `the layout of ${tooNew[0]} is ${tooNew[1]}, this version knows up to ${STORE_LAYOUTS[tooNew[0]] ?? 0}`
      }. Install that version or a newer one`,
    );
  if (byteOrder !== endianness())
    throw new UnusableBackup(
      `the backup is from a machine with another byte order (${platform}, ${byteOrder}): restore it on such a machine`,
    );
  return info;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function isInfo(value: unknown): value is BackupInfo {
  if (!isPlainObject(value)) return false;
  const { format, createdAt, version, platform, byteOrder, secretKey, counts, layouts } = value;
  return (
    typeof format === "number" &&
    [createdAt, version, platform, byteOrder, secretKey].every((text) => typeof text === "string") &&
    isPlainObject(counts) &&
    typeof counts.messages === "number" &&
    [counts.documents, layouts].every(isNumbers)
  );
}

function isNumbers(value: unknown): boolean {
  return isPlainObject(value) && Object.values(value).every((one) => typeof one === "number");
}

export interface ReadBackup {
  readonly info: BackupInfo;
  /** Of the files, together. */
  readonly bytes: number;
}

/** A file of the archive. */
interface Entry {
  readonly name: string;
  readonly size: number;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Names only files of the folder itself. */
const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
/** Of `backup.json` and the checksums. */
const MOST_TEXT_BYTES = 1_024 * 1_024;

/**
 * Reads a whole backup and compares it with its checksums. With `directory`, writes its files there, to an empty folder: use them only
 * when this has resolved. Throws `UnusableBackup` with the reason, or whatever ended the archive.
 */
export async function readArchive(
  archive: AsyncIterable<Uint8Array>,
  directory?: string,
): Promise<ReadBackup> {
  const found = new Map<string, string>();
  let info: BackupInfo | undefined;
  let checksums: string | undefined;
  let bytes = 0;
  for await (const entry of entriesOf(archive)) {
    const { name, size } = entry;
    if (found.has(name)) throw new UnusableBackup(`the backup is damaged: it has ${name} twice`);
    if (name === CHECKSUMS_FILE) {
      checksums = await textOf(entry);
      continue;
    }
    const hash = createHash("sha256");
    if (name === INFO_FILE) {
      const json = await textOf(entry);
      hash.update(json);
      info = readInfo(json);
    } else {
      await keep(entry, hash, directory);
      bytes += size;
    }
    found.set(name, hash.digest("hex"));
  }
  if (info === undefined || checksums === undefined)
    throw new UnusableBackup("the backup is not complete: its end is missing");
  compare(found, checksums);
  return { info, bytes };
}

/** The files of a tar archive as they come in. */
async function* entriesOf(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Entry> {
  let brokenOff: unknown;
  const source = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* archive;
    } catch (error) {
      brokenOff = error;
      throw error;
    }
  };
  const decoded = async function* <T>(values: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      yield* values;
    } catch (error) {
      if (brokenOff !== undefined) throw brokenOff;
      const { message } = error as Error;
      throw new UnusableBackup(
        `this is not an archive of \`sluice backup\`, or it is damaged or cut off (${message})`,
      );
    }
  };
  const decoder = createTarDecoder({ strict: true });
  // Its errors are those of the decoder.
  const piping = ReadableStream.from(source())
    .pipeTo(decoder.writable)
    .catch(() => {});
  for await (const { header, body } of decoded(decoder.readable)) {
    // Programs that pack a folder add an entry for it, and begin names with ./
    const name = header.name.replace(/^\.\//, "");
    if (header.type === "directory") continue;
    if (header.type !== "file" || !PLAIN_NAME.test(name))
      throw new UnusableBackup("this is not an archive of `sluice backup`: it has other files");
    yield { name, size: header.size, body: decoded(body) };
  }
  await piping;
}

async function textOf({ name, size, body }: Entry): Promise<string> {
  if (size > MOST_TEXT_BYTES) throw new UnusableBackup(`the backup is damaged: ${name} is too long`);
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts).toString();
}

async function keep(
  { name, body }: Entry,
  hash: ReturnType<typeof createHash>,
  directory: string | undefined,
): Promise<void> {
  const file = directory === undefined ? undefined : await open(join(directory, name), "wx", 0o600);
  try {
    for await (const part of body) {
      hash.update(part);
      await file?.writeFile(part);
    }
    await file?.sync();
  } finally {
    await file?.close();
  }
}

/** Every file has a checksum, and every checksum its file. */
function compare(found: ReadonlyMap<string, string>, checksums: string): void {
  const expected = new Map(
    Array.from(checksums.matchAll(/^([0-9a-f]{64}) {2}(.+)$/gm), ([, hash = "", name = ""]) => [name, hash]),
  );
  for (const name of new Set([...found.keys(), ...expected.keys()]))
    if (found.get(name) !== expected.get(name))
      throw new UnusableBackup(
        `the backup is ${found.has(name) ? "damaged: the checksum is wrong" : "incomplete: a file is missing"} (${name})`,
      );
}
