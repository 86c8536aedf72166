import { ATTEMPT_HEADER, MESSAGE_ID_HEADER, SIGNATURE_HEADER, USER_AGENT } from "@sluice/protocol";
import { carriesCredential } from "./custom-headers.js";
import { REDACTED } from "./redact-echo.js";
import { bodySigner, standardSignature } from "./sign-request.js";

export interface RequestHeaderOptions {
  readonly custom: readonly (readonly [name: string, value: string])[];
  readonly secrets: readonly string[];
  readonly standardWebhooks: boolean;
}

/** All headers of one request, names and values in turn. */
export type WriteHeaders = (messageId: string, round: number, body: Uint8Array, nowMs: number) => string[];

const STANDARD = {
  id: "webhook-id",
  timestamp: "webhook-timestamp",
  signature: "webhook-signature",
} as const;

/** Writes the headers of requests to one URL; what all of them share is made once. */
export function headerWriter({ custom, secrets, standardWebhooks }: RequestHeaderOptions): WriteHeaders {
  const shared = ["User-Agent", USER_AGENT, "Content-Type", "application/json", ...custom.flat()];
  const [signing] = secrets;
  const sign = signing === undefined ? undefined : bodySigner(signing);
  return (messageId, round, body, nowMs) => {
    const id = headerSafe(messageId);
    const headers = shared.concat(MESSAGE_ID_HEADER, id, ATTEMPT_HEADER, String(round));
    if (sign === undefined) return headers;
    headers.push(SIGNATURE_HEADER, sign(body));
    if (standardWebhooks) {
      const timestampS = Math.floor(nowMs / 1_000);
      headers.push(STANDARD.id, id, STANDARD.timestamp, String(timestampS));
      headers.push(STANDARD.signature, standardSignature(id, timestampS, body, secrets));
    }
    return headers;
  };
}

/**
 * The headers as they are kept for the trace: without signatures and credentials, and with those left blank that differ from
 * one request to the next, so that all requests to a URL keep the same. `shownHeaders` fills them in again.
 */
export function tracedHeaders({
  custom,
  secrets,
  standardWebhooks,
}: RequestHeaderOptions): Readonly<Record<string, string>> {
  const traced: Record<string, string> = {
    "User-Agent": USER_AGENT,
    "Content-Type": "application/json",
    [MESSAGE_ID_HEADER]: "",
    [ATTEMPT_HEADER]: "",
  };
  if (secrets.length > 0) {
    traced[SIGNATURE_HEADER] = REDACTED;
    if (standardWebhooks) {
      traced[STANDARD.id] = "";
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

/** Whether a header of the trace is one that every webhook is sent, and none of its settings. */
export function isSetByCollector(name: string): boolean {
  return OWN_HEADERS.has(name.toLowerCase());
}

/** The headers that a request of the trace had, as people are to see them. No webhook may set those that are filled in. */
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

/** A client chooses its message ids; what a header cannot carry of one is percent-encoded. */
function headerSafe(messageId: string): string {
  if (/^[\x21-\x7e]+$/.test(messageId)) return messageId;
  // Through UTF-8 and back: half a surrogate pair, which has no encoding, becomes U+FFFD.
  return encodeURIComponent(Buffer.from(messageId, "utf8").toString("utf8"));
}
