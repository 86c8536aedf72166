import { createHmac, createSecretKey } from "node:crypto";
import { ATTEMPT_HEADER, MESSAGE_ID_HEADER, SIGNATURE_HEADER, USER_AGENT } from "@sluice/protocol";
import { carriesCredential } from "./custom-headers.js";
import { REDACTED } from "./redact-echo.js";

/** Returns the value of `X-Signature`: the HMAC-SHA1 of exactly these bytes, in lower-case hex. */
type SignBody = (body: Uint8Array) => string;

export function bodySigner(secret: string): SignBody {
  const hmac = hmacWith("sha1", Buffer.from(secret, "utf8"));
  return (body) => hmac("", body, "hex");
}

/**
 * Returns the `webhook-signature` header of the Standard Webhooks specification: one `v1,` signature per secret. As in the
 * specification, a secret that starts with `whsec_` is base64. The key of any other secret is its UTF-8 bytes.
 */
type SignStandard = (messageId: string, timestampS: number, body: Uint8Array) => string;

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

export interface RequestHeaderOptions {
  readonly custom: readonly (readonly [name: string, value: string])[];
  readonly secrets: readonly string[];
  readonly standardWebhooks: boolean;
  /** A request has several messages. Default: one. */
  readonly isInBatches?: boolean;
}

/** Returns all headers of one request as alternating names and values. */
export type WriteHeaders = (messageId: string, round: number, body: Uint8Array, nowMs: number) => string[];

const STANDARD = {
  id: "webhook-id",
  timestamp: "webhook-timestamp",
  signature: "webhook-signature",
} as const;

/** Creates a function that builds the headers of requests to one URL. The headers that all requests share are built once. */
export function headerWriter({ custom, secrets, standardWebhooks }: RequestHeaderOptions): WriteHeaders {
  const shared = ["User-Agent", USER_AGENT, "Content-Type", "application/json", ...custom.flat()];
  const [signing] = secrets;
  const sign = signing === undefined ? undefined : bodySigner(signing);
  const signStandard = standardSigner(secrets);
  return (messageId, round, body, nowMs) => {
    const id = headerSafe(messageId);
    const headers = shared.concat(MESSAGE_ID_HEADER, id, ATTEMPT_HEADER, String(round));
    if (sign === undefined) return headers;
    headers.push(SIGNATURE_HEADER, sign(body));
    if (standardWebhooks) {
      const timestampS = Math.floor(nowMs / 1_000);
      headers.push(STANDARD.id, id, STANDARD.timestamp, String(timestampS));
      headers.push(STANDARD.signature, signStandard(id, timestampS, body));
    }
    return headers;
  };
}

const TRACE_CONTEXT = new Set(["traceparent", "tracestate"]);

/**
 * Adds the headers of a message's trace. They replace custom headers of these names, which settings could have before messages had
 * traces: two of them would end the trace, and a `tracestate` of another trace is wrong.
 */
export function withTraceHeaders(headers: readonly string[], trace: readonly string[]): string[] {
  const isKept = (_: string, index: number): boolean =>
    !TRACE_CONTEXT.has((headers[index - (index % 2)] ?? "").toLowerCase());
  return [...headers.filter(isKept), ...trace];
}

/** The id of a batch is not stored with each of its messages. */
const BATCH_ID = "batch_…";

/**
 * The headers to store in the trace. Signatures and credentials are redacted. Values that vary per request are blank, so
 * that all requests to a URL share one stored object. `shownHeaders` fills them in.
 */
export function tracedHeaders({
  custom,
  secrets,
  standardWebhooks,
  isInBatches = false,
}: RequestHeaderOptions): Readonly<Record<string, string>> {
  const id = isInBatches ? BATCH_ID : "";
  const traced: Record<string, string> = {
    "User-Agent": USER_AGENT,
    "Content-Type": "application/json",
    [MESSAGE_ID_HEADER]: id,
    [ATTEMPT_HEADER]: "",
  };
  if (secrets.length > 0) {
    traced[SIGNATURE_HEADER] = REDACTED;
    if (standardWebhooks) {
      traced[STANDARD.id] = id;
      traced[STANDARD.timestamp] = "";
      traced[STANDARD.signature] = REDACTED;
    }
  }
  for (const [name, value] of custom) traced[name] = carriesCredential(name) ? REDACTED : value;
  return traced;
}

const OWN_HEADERS = new Set(
  [
    "User-Agent",
    "Content-Type",
    MESSAGE_ID_HEADER,
    ATTEMPT_HEADER,
    SIGNATURE_HEADER,
    ...Object.values(STANDARD),
  ].map((name) => name.toLowerCase()),
);

/** Whether a header in the trace is set by the collector, and not by the webhook's settings. */
export function isSetByCollector(name: string): boolean {
  return OWN_HEADERS.has(name.toLowerCase());
}

/** Returns the headers of a traced request for display. Fills in the blank ones, which a webhook's settings cannot set. */
export function shownHeaders(
  traced: Readonly<Record<string, string>>,
  messageId: string,
  { attempt, atMs }: { readonly attempt: number; readonly atMs: number },
): Readonly<Record<string, string>> {
  const blanks: Readonly<Record<string, string>> = {
    [MESSAGE_ID_HEADER]: headerSafe(messageId),
    [ATTEMPT_HEADER]: String(attempt),
    [STANDARD.id]: headerSafe(messageId),
    [STANDARD.timestamp]: String(Math.floor(atMs / 1_000)),
  };
  return Object.fromEntries(
    Object.entries(traced).map(([name, value]) => [name, value === "" ? (blanks[name] ?? "") : value]),
  );
}

/** Percent-encodes a message id if it has characters that are not allowed in a header. Clients choose their message ids. */
function headerSafe(messageId: string): string {
  if (/^[\x21-\x7e]+$/.test(messageId)) return messageId;
  // A round trip through UTF-8 replaces lone surrogates, which `encodeURIComponent` rejects, with U+FFFD.
  return encodeURIComponent(Buffer.from(messageId, "utf8").toString("utf8"));
}
