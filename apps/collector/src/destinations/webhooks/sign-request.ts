import { createHmac } from "node:crypto";

/** The lower-case hex HMAC-SHA1 of exactly these bytes: `X-Signature`. */
export function xSignature(body: Uint8Array, secret: string): string {
  return createHmac("sha1", secret).update(body).digest("hex");
}

const BASE64_SECRET = /^whsec_([A-Za-z0-9+/=]+)$/;

/**
 * The `webhook-signature` of the Standard Webhooks specification: one `v1,` signature for each secret. A secret that
 * begins with `whsec_` is base64, as there; any other is taken as its bytes.
 */
export function standardSignature(
  messageId: string,
  timestampS: number,
  body: Uint8Array,
  secrets: readonly string[],
): string {
  return secrets
    .map((secret) => {
      const base64 = BASE64_SECRET.exec(secret)?.[1];
      const key = base64 === undefined ? Buffer.from(secret, "utf8") : Buffer.from(base64, "base64");
      const mac = createHmac("sha256", key)
        .update(`${messageId}.${timestampS}.`)
        .update(body)
        .digest("base64");
      return `v1,${mac}`;
    })
    .join(" ");
}
