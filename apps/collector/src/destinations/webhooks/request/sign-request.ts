import { createHmac, createSecretKey } from "node:crypto";

/** Returns the value of `X-Signature`: the HMAC-SHA1 of exactly these bytes, in lower-case hex. */
export type SignBody = (body: Uint8Array) => string;

export function bodySigner(secret: string): SignBody {
  // With a key in bytes, each message takes 11 µs or more on Node.js 24.21, which throws and catches an error inside.
  const key = createSecretKey(secret, "utf8");
  return (body) => createHmac("sha1", key).update(body).digest("hex");
}

/**
 * Returns the `webhook-signature` header of the Standard Webhooks specification: one `v1,` signature per secret. As in the
 * specification, a secret that starts with `whsec_` is base64. The key of any other secret is its UTF-8 bytes.
 */
export type SignStandard = (messageId: string, timestampS: number, body: Uint8Array) => string;

const BASE64_SECRET = /^whsec_([A-Za-z0-9+/=]+)$/;

export function standardSigner(secrets: readonly string[]): SignStandard {
  const keys = secrets.map((secret) => {
    const base64 = BASE64_SECRET.exec(secret)?.[1];
    return base64 === undefined ? createSecretKey(secret, "utf8") : createSecretKey(base64, "base64");
  });
  return (messageId, timestampS, body) =>
    keys
      .map((key) => createHmac("sha256", key).update(`${messageId}.${timestampS}.`).update(body))
      .map((hmac) => `v1,${hmac.digest("base64")}`)
      .join(" ");
}
