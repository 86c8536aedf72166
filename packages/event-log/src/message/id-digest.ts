import { createHmac, createSecretKey, hkdfSync } from "node:crypto";
import type { Identity } from "./identity.js";

/**
 * HMAC-SHA-256 of ids, in lower-case hex, to recognize an id without storing it. A plain hash would not be enough: user ids are often
 * numbers or e-mail addresses, which can be found by trial. That needs the key here.
 */
export interface IdDigest {
  /** The digest of an id with its kind. */
  of(identity: Identity): string;
}

const KEY_BYTES = 32;

/** `key`: from `idDigestKey`. */
export function idDigest(key: Uint8Array): IdDigest {
  const secret = createSecretKey(key);
  return { of: (identity) => createHmac("sha256", secret).update(identity).digest("hex") };
}

/** The digests' key, derived from the data folder's secret key. */
export function idDigestKey(secretKey: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secretKey, "", "sluice id digests", KEY_BYTES));
}
