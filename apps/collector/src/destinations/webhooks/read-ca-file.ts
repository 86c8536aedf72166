import { X509Certificate } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";

/** The largest CA file that is read, in bytes: several times a system's whole bundle. */
const MOST_BYTES = 1_048_576;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

export type CaFile =
  /** `pem`: the certificates and nothing else that the file may hold. */
  | { readonly kind: "read"; readonly pem: string }
  /** The message is the same whatever the file is: it must not tell a token's holder what files there are. */
  | { readonly kind: "unusable"; readonly message: string };

const UNUSABLE: CaFile = {
  kind: "unusable",
  message:
    "caFile must be the path of a regular file on the collector's machine that the collector can read, of at most 1 MB, with certificates in PEM",
};

/** Reads the certificates of a PEM file. Never waits: pipes and devices are refused. Never throws. */
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
  // Asked before, since opening a device can have effects, and after, since another file may have this name by then.
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

/** Undefined where there is more: some files are longer than they say. */
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
