import { createHmac, timingSafeEqual } from "node:crypto";

/** A request body exactly as it came. */
export type RawBody = string | Uint8Array;

const HEX_SHA1 = /^[0-9a-f]{40}$/;

/** The `X-Signature` of a body: the lower-case hex HMAC-SHA1 of its bytes. For tests of receivers. */
export function sign(rawBody: RawBody, secret: string): string {
  return createHmac("sha1", secret).update(rawBody).digest("hex");
}

/**
 * Whether `signature` is the `X-Signature` of exactly this body under the secret, or under one of two during a rotation.
 * Compares in constant time; anything malformed is false, never an error.
 */
export function verify(
  rawBody: RawBody,
  signature: string | null | undefined,
  secret: string | readonly string[],
): boolean {
  if (typeof signature !== "string" || !HEX_SHA1.test(signature)) return false;
  if (typeof rawBody !== "string" && !(rawBody instanceof Uint8Array)) return false;
  const given = Buffer.from(signature, "hex");
  const secrets = typeof secret === "string" ? [secret] : Array.isArray(secret) ? secret : [];
  let matches = false;
  // All of them, whichever matches: the time taken does not tell which.
  for (const one of secrets) {
    if (typeof one !== "string" || one === "") continue;
    const expected = createHmac("sha1", one).update(rawBody).digest();
    matches = timingSafeEqual(expected, given) || matches;
  }
  return matches;
}
