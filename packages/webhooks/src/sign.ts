import { createHmac } from "node:crypto";

/** The value of `X-Signature` for a body: lower-case hex HMAC-SHA1 of its bytes, keyed with the shared secret. */
export function sign(rawBody: string | Uint8Array, secret: string): string {
  return createHmac("sha1", secret).update(rawBody).digest("hex");
}
