import { createHmac, timingSafeEqual } from "node:crypto";

/** A request body exactly as it arrived. */
export type RawBody = string | Uint8Array;

const HEX_SHA1 = /^[0-9a-f]{40}$/;

/** The `X-Signature` of a body: the HMAC-SHA1 of its bytes in lower-case hex. For tests of receivers. */
export function sign(rawBody: RawBody, secret: string): string {
  return createHmac("sha1", secret).update(rawBody).digest("hex");
}

/**
 * Whether `signature` is the `X-Signature` of exactly this body under one of the secrets. Pass two secrets during a rotation.
 * Compares in constant time. Returns false for malformed arguments, and never throws.
 */
export function verify(
  rawBody: RawBody,
  signature: string | null | undefined,
  secret: string | readonly string[] | undefined,
): boolean {
  try {
    return hasSignature(rawBody, signature, secret);
  } catch {
    // An argument that is not what its type says, such as a proxy.
    return false;
  }
}

function hasSignature(rawBody: RawBody, signature: unknown, secret: unknown): boolean {
  if (typeof signature !== "string" || !HEX_SHA1.test(signature)) return false;
  if (typeof rawBody !== "string" && !(rawBody instanceof Uint8Array)) return false;
  const given = Buffer.from(signature, "hex");
  const secrets = typeof secret === "string" ? [secret] : Array.isArray(secret) ? secret : [];
  let matches = false;
  // Tries all secrets, so that the time does not reveal which one matches.
  for (const one of secrets) {
    if (typeof one !== "string" || one === "") continue;
    const expected = createHmac("sha1", one).update(rawBody).digest();
    matches = timingSafeEqual(expected, given) || matches;
  }
  return matches;
}
