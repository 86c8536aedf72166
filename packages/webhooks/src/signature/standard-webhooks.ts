import { createHmac, timingSafeEqual } from "node:crypto";
import type { RawBody } from "./signature.js";

/** The headers of the Standard Webhooks specification (https://www.standardwebhooks.com). */
export interface StandardHeaders {
  /** The message's id. It is the same on every attempt. */
  readonly "webhook-id": string;
  /** When the request was signed, in seconds since the Unix epoch. */
  readonly "webhook-timestamp": string;
  /** `v1,` and a base64 HMAC-SHA256. One for each secret, separated by spaces. */
  readonly "webhook-signature": string;
}

/**
 * `valid`: signed under one of the secrets, at most five minutes before or after `nowMs`. `outside_window`: signed, but earlier or later
 * than that. `mismatch`: anything else.
 */
export type StandardVerdict = "valid" | "outside_window" | "mismatch";

/** How long before and after its time a signature is accepted, in milliseconds. The published libraries use the same window. */
const WINDOW_MS = 5 * 60_000;

const TIMESTAMP = /^\d{1,12}$/;
const BASE64_SECRET = /^whsec_([A-Za-z0-9+/=]+)$/;

/** Makes the Standard Webhooks headers of a body. For tests of receivers. `secret` is the same as for `verifyStandard`. */
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
 * Checks the Standard Webhooks headers of a request: they cover its id, its time and exactly this body. A secret that begins with `whsec_` is
 * base64, any other is used as it is. Pass two secrets during a rotation. Compares in constant time, and never throws.
 */
export function verifyStandard(
  rawBody: RawBody,
  headers: { readonly [Name in keyof StandardHeaders]: string | null | undefined },
  secret: string | readonly string[] | undefined,
  nowMs: number = Date.now(),
): StandardVerdict {
  try {
    return verdictOn(rawBody, headers, secret, nowMs);
  } catch {
    // An argument that is not what its type says, such as a proxy.
    return "mismatch";
  }
}

function verdictOn(
  rawBody: RawBody,
  headers: { readonly [Name in keyof StandardHeaders]: string | null | undefined },
  secret: string | readonly string[] | undefined,
  nowMs: number,
): StandardVerdict {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = headers;
  if (typeof id !== "string" || id === "") return "mismatch";
  // Only digits, so that no part of the id or the body can pass for the time between them.
  if (typeof timestamp !== "string" || !TIMESTAMP.test(timestamp)) return "mismatch";
  if (typeof signatures !== "string") return "mismatch";
  const given = signatures
    .split(" ")
    .filter((one) => one.startsWith("v1,"))
    .map((one) => Buffer.from(one.slice("v1,".length), "base64"));
  const secrets = typeof secret === "string" ? [secret] : Array.isArray(secret) ? secret : [];
  const expected = secrets
    .filter((one) => typeof one === "string" && one !== "")
    .map((one) => signatureOf(rawBody, one, id, timestamp));
  if (!anyEqual(given, expected)) return "mismatch";
  return Math.abs(nowMs - Number(timestamp) * 1_000) <= WINDOW_MS ? "valid" : "outside_window";
}

/** Compares each with each, so that the time does not reveal which ones match. */
function anyEqual(given: readonly Uint8Array[], expected: readonly Uint8Array[]): boolean {
  let matches = false;
  for (const a of given) {
    for (const b of expected) matches = (a.length === b.length && timingSafeEqual(a, b)) || matches;
  }
  return matches;
}

function signatureOf(rawBody: RawBody, secret: string, id: string, timestamp: string): Buffer {
  const base64 = BASE64_SECRET.exec(secret)?.[1];
  // Node.js 24 takes 20 µs longer for a key in bytes than for the same in a string.
  const key = base64 === undefined ? secret : Buffer.from(base64, "base64");
  return createHmac("sha256", key).update(`${id}.${timestamp}.`).update(rawBody).digest();
}
