import { X509Certificate } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";

/** Maximum size of a CA file, in bytes: several times the size of a system's CA bundle. */
const MOST_BYTES = 1_048_576;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

export type CaFile =
  /** `pem`: only the certificates, without other contents of the file. */
  | { readonly kind: "read"; readonly pem: string }
  /** The message is the same for every cause, so that an API client cannot find out which files exist. */
  | { readonly kind: "unusable"; readonly message: string };

const UNUSABLE: CaFile = {
  kind: "unusable",
  message:
    "caFile must be the path of a regular file with certificates in PEM format on the collector's machine, at most 1 MB large and readable by the collector",
};

/** Reads the certificates in a PEM file. Refuses pipes and devices, so that it never blocks. Never throws. */
export async function readCaFile(path: string): Promise<CaFile> {
  const text = await readRegularFile(path).catch(() => undefined);
  const blocks = text?.match(CERTIFICATE);
  if (blocks === undefined || blocks === null) return UNUSABLE;
  const wrong = blocks.findIndex((block) => !isCertificate(block));
  if (wrong >= 0)
    return { kind: "unusable", message: `Certificate ${wrong + 1} in caFile cannot be parsed as X.509` };
  return { kind: "read", pem: `${blocks.join("\n")}\n` };
}

async function readRegularFile(path: string): Promise<string | undefined> {
  // Check before opening, because opening a device can have side effects, and again afterwards, because the path may have been replaced.
  if (!(await stat(path)).isFile()) return undefined;
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > MOST_BYTES) return undefined;
    return await readAtMost(file, MOST_BYTES);
  } finally {
    await file.close();
  }
}

/** Returns undefined if there is more to read: the reported size of some files is too small. */
async function readAtMost(file: FileHandle, mostBytes: number): Promise<string | undefined> {
  const buffer = Buffer.alloc(mostBytes + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length);
    length += bytesRead;
    if (length > mostBytes) return undefined;
    if (bytesRead === 0) return buffer.toString("latin1", 0, length);
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
