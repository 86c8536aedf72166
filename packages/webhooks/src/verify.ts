import { timingSafeEqual } from "node:crypto";
import { sign } from "./sign.js";

const HEX_SHA1 = /^[0-9a-f]{40}$/;

/**
 * Whether `signature` is that of the body under the secret, or under one of several while a secret is being replaced.
 * Compares in constant time. False, never an error, for anything malformed: no signature, upper case, another length,
 * an empty secret.
 */
export function verify(
  rawBody: string | Uint8Array,
  signature: unknown,
  secret: string | readonly string[],
): boolean {
  if (typeof signature !== "string" || !HEX_SHA1.test(signature)) return false;
  if (typeof rawBody !== "string" && !(rawBody instanceof Uint8Array)) return false;
  const given = Buffer.from(signature, "latin1");
  let isValid = false;
  for (const candidate of typeof secret === "string" ? [secret] : secret) {
    if (typeof candidate !== "string" || candidate === "") continue;
    // No early end: how long it takes does not tell which secret it was.
    if (timingSafeEqual(given, Buffer.from(sign(rawBody, candidate), "latin1"))) isValid = true;
  }
  return isValid;
}
