import { createHmac, createSecretKey } from "node:crypto";

/** Returns the value of `X-Signature`: the HMAC-SHA1 of exactly these bytes, in lower-case hex. */
export type SignBody = (body: Uint8Array) => string;

export function bodySigner(secret: string): SignBody {
  const hmac = hmacWith("sha1", Buffer.from(secret, "utf8"));
  return (body) => hmac("", body, "hex");
}

/**
 * Returns the `webhook-signature` header of the Standard Webhooks specification: one `v1,` signature per secret. As in the
 * specification, a secret that starts with `whsec_` is base64. The key of any other secret is its UTF-8 bytes.
 */
export type SignStandard = (messageId: string, timestampS: number, body: Uint8Array) => string;

const BASE64_SECRET = /^whsec_([A-Za-z0-9+/=]+)$/;

export function standardSigner(secrets: readonly string[]): SignStandard {
  const hmacs = secrets.map((secret) => {
    const base64 = BASE64_SECRET.exec(secret)?.[1];
    return hmacWith(
      "sha256",
      base64 === undefined ? Buffer.from(secret, "utf8") : Buffer.from(base64, "base64"),
    );
  });
  return (messageId, timestampS, body) =>
    hmacs.map((hmac) => `v1,${hmac(`${messageId}.${timestampS}.`, body, "base64")}`).join(" ");
}

/** The HMAC of `prefix`, in UTF-8, and `body` behind it. */
type Hmac = (prefix: string, body: Uint8Array, encoding: "hex" | "base64") => string;

function hmacWith(algorithm: "sha1" | "sha256", secret: Uint8Array): Hmac {
  // Some releases of Node.js 24 take ten times as long with a key in bytes.
  const key = createSecretKey(secret);
  return (prefix, body, encoding) => createHmac(algorithm, key).update(prefix).update(body).digest(encoding);
}
