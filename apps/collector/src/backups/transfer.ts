import { tarEnd, tarEntry } from "./tar.js";

/** The first bytes of a piece's SHA-256 by which a client says that it has it. Enough that no two pieces have the same. */
export const KNOWN_BYTES = 12;

/** Pieces that the client has, from the base64 that `encodeKnown` makes; undefined if it is malformed. */
export function knownPieces(base64: string): ((hash: string) => boolean) | undefined {
  const hex = Buffer.from(base64, "base64").toString("hex");
  const digits = KNOWN_BYTES * 2;
  if (hex.length % digits !== 0) return undefined;
  const known = new Set<string>();
  for (let at = 0; at < hex.length; at += digits) known.add(hex.slice(at, at + digits));
  return (hash) => known.has(hash.slice(0, digits));
}

export function encodeKnown(hashes: Iterable<string>): string {
  return Buffer.from(Array.from(hashes, (hash) => hash.slice(0, KNOWN_BYTES * 2)).join(""), "hex").toString(
    "base64",
  );
}

/** The entry that takes the place of the manifest if a backup failed after its archive was begun. */
export const FAILURE_NAME = "failed.txt";

export function failureEntry(reason: string): Uint8Array {
  return Buffer.concat([tarEntry(FAILURE_NAME, Buffer.from(reason), 0), tarEnd()]);
}
