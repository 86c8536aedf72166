import { hash, hkdfSync } from "node:crypto";
import type { Identity } from "./identity.js";

/**
 * Names ids without showing them: HMAC-SHA-256, lower-case hex. Without the key nobody can find an id by trying many, which
 * with a plain hash is easy: user ids are often numbers or e-mail addresses.
 */
export interface IdDigest {
  /** Of an id with its kind. */
  of(identity: Identity): string;
  /** Of an id that older versions named by its SHA-256, without its kind. */
  ofSha256(sha256: string): string;
  /** The same for the text of such an id. */
  ofUntyped(id: string): string;
}

const BLOCK_BYTES = 64;
const KEY_BYTES = 32;

/** `key`: from `idDigestKey`. */
export function idDigest(key: Uint8Array): IdDigest {
  // As RFC 2104 says. `createHmac` does the same in ten times the time, and this runs for every message once anybody is suppressed.
  const inner = Buffer.alloc(BLOCK_BYTES, 0x36);
  const outer = Buffer.alloc(BLOCK_BYTES + KEY_BYTES, 0x5c);
  for (const [index, byte] of key.entries()) {
    inner[index] = (inner[index] ?? 0) ^ byte;
    outer[index] = (outer[index] ?? 0) ^ byte;
  }
  const hmac = (text: string): string => {
    hash("sha256", Buffer.concat([inner, Buffer.from(text)]), "buffer").copy(outer, BLOCK_BYTES);
    return hash("sha256", outer, "hex");
  };
  const ofSha256 = (sha256: string): string => hmac(`sha256:${sha256}`);
  return { of: hmac, ofSha256, ofUntyped: (id) => ofSha256(hash("sha256", id)) };
}

/** The digests' key, derived from the data folder's secret key. */
export function idDigestKey(secretKey: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secretKey, "", "sluice id digests", KEY_BYTES));
}
