import { createHmac, timingSafeEqual } from "node:crypto";
import type { RawBody } from "./signature.js";

/** The headers of the Standard Webhooks specification (https://www.standardwebhooks.com). */
export interface StandardHeaders {
  /** The message's id, the same on every attempt. */
  readonly "webhook-id": string;
  /** When the request was signed, in seconds since the Unix epoch. */
  readonly "webhook-timestamp": string;
  /** `v1,` and a base64 HMAC-SHA256; one per secret, separated by spaces. */
  readonly "webhook-signature": string;
}

/**
 * `valid`: signed under one of the secrets, at most five minutes from `nowMs`. `outside_window`: signed, but earlier or
 * later than that. `mismatch`: anything else.
 */
export type StandardVerdict = "valid" | "outside_window" | "mismatch";

/** A signature is accepted this long before and after its time, in milliseconds, as in the published libraries. */
const WINDOW_MS = 5 * 60_000;

const TIMESTAMP = /^\d{1,12}$/;
const BASE64_SECRET = /^whsec_([A-Za-z0-9+/=]+)$/;

/** The Standard Webhooks headers of a body. For tests of receivers. `secret`: as in `verifyStandard`. */
export function signStandard(
  rawBody: RawBody,
  secret: string,
  { id, timestampMs }: { readonly id: string; readonly timestampMs: number },
): StandardHeaders {
  const timestamp = String(Math.floor(timestampMs / 1_000));
  const signature = signatureOf(rawBody, secret, id, timestamp).toString("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}

/**
 * Checks the Standard Webhooks headers of a request: they cover its id, its time and exactly this body. A secret that begins
 * with `whsec_` is base64, any other is taken as its bytes; give two during a rotation. Compares in constant time, never throws.
 */
export function verifyStandard(
  rawBody: RawBody,
  headers: { readonly [Name in keyof StandardHeaders]: string | null | undefined },
  secret: string | readonly string[],
  nowMs: number = Date.now(),
): StandardVerdict {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = headers;
  if (typeof id !== "string" || id === "") return "mismatch";
  // Digits alone: nothing of the id or the body can pass for the time between them.
  if (typeof timestamp !== "string" || !TIMESTAMP.test(timestamp)) return "mismatch";
  if (typeof signatures !== "string") return "mismatch";
  const given = signatures
    .split(" ")
    .filter((one) => one.startsWith("v1,"))
    .map((one) => Buffer.from(one.slice("v1,".length), "base64"));
  let matches = false;
  for (const one of typeof secret === "string" ? [secret] : secret) {
    if (typeof one !== "string" || one === "") continue;
    const expected = signatureOf(rawBody, one, id, timestamp);
    for (const bytes of given) {
      matches = (bytes.length === expected.length && timingSafeEqual(bytes, expected)) || matches;
    }
  }
  if (!matches) return "mismatch";
  return Math.abs(nowMs - Number(timestamp) * 1_000) <= WINDOW_MS ? "valid" : "outside_window";
}

function signatureOf(rawBody: RawBody, secret: string, id: string, timestamp: string): Buffer {
  const base64 = BASE64_SECRET.exec(secret)?.[1];
  const key = base64 === undefined ? Buffer.from(secret, "utf8") : Buffer.from(base64, "base64");
  return createHmac("sha256", key).update(`${id}.${timestamp}.`).update(rawBody).digest();
}
