import { endianness } from "node:os";
import { STORE_LAYOUTS } from "@sluice/event-log";
import { isPlainObject } from "@sluice/protocol";

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
export function readInfo(json: string): BackupInfo {
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
