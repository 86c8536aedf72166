import { hash, hkdfSync } from "node:crypto";
import type { Identity } from "./identity.js";

/**
 * HMAC-SHA-256 of ids, in lower-case hex, to recognize an id without storing it. A plain hash would not be enough: user ids are often
 * numbers or e-mail addresses, which can be found by trial. That needs the key here.
 */
export interface IdDigest {
  /** The digest of an id with its kind. */
  of(identity: Identity): string;
}

const BLOCK_BYTES = 64;
const KEY_BYTES = 32;

/** `key`: from `idDigestKey`. */
export function idDigest(key: Uint8Array): IdDigest {
  // See RFC 2104. `createHmac` does the same but takes ten times as long, and this runs for every message once a user is suppressed.
  const inner = Buffer.alloc(BLOCK_BYTES, 0x36);
  const outer = Buffer.alloc(BLOCK_BYTES + KEY_BYTES, 0x5c);
  for (const [index, byte] of key.entries()) {
    inner[index] = (inner[index] ?? 0) ^ byte;
    outer[index] = (outer[index] ?? 0) ^ byte;
  }
  return {
    of(identity) {
      hash("sha256", Buffer.concat([inner, Buffer.from(identity)]), "buffer").copy(outer, BLOCK_BYTES);
      return hash("sha256", outer, "hex");
    },
  };
}

/** The digests' key, derived from the data folder's secret key. */
export function idDigestKey(secretKey: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secretKey, "", "sluice id digests", KEY_BYTES));
}
