import { ATTEMPT_HEADER, MESSAGE_ID_HEADER, SIGNATURE_HEADER, USER_AGENT } from "@sluice/protocol";
import { carriesCredential } from "./custom-headers.js";
import { standardSignature, xSignature } from "./sign-request.js";

export interface RequestHeaderOptions {
  readonly custom: readonly (readonly [name: string, value: string])[];
  readonly secrets: readonly string[];
  readonly standardWebhooks: boolean;
}

/** All headers of one request, names and values in turn. */
export function requestHeaders(
  { custom, secrets, standardWebhooks }: RequestHeaderOptions,
  messageId: string,
  round: number,
  body: Uint8Array,
  nowMs: number,
): string[] {
  const id = headerSafe(messageId);
  const headers = [
    "User-Agent",
    USER_AGENT,
    "Content-Type",
    "application/json",
    MESSAGE_ID_HEADER,
    id,
    ATTEMPT_HEADER,
    String(round),
  ];
  const [signing] = secrets;
  if (signing !== undefined) {
    headers.push(SIGNATURE_HEADER, xSignature(body, signing));
    if (standardWebhooks) {
      const timestampS = Math.floor(nowMs / 1_000);
      headers.push("webhook-id", id, "webhook-timestamp", String(timestampS));
      headers.push("webhook-signature", standardSignature(id, timestampS, body, secrets));
    }
  }
  for (const [name, value] of custom) headers.push(name, value);
  return headers;
}

/** The headers as the trace shows them: those that every request to the URL has, without signatures and credentials. */
export function tracedHeaders({
  custom,
  secrets,
  standardWebhooks,
}: RequestHeaderOptions): Readonly<Record<string, string>> {
  const traced: Record<string, string> = { "User-Agent": USER_AGENT, "Content-Type": "application/json" };
  if (secrets.length > 0) {
    traced[SIGNATURE_HEADER] = "[redacted]";
    if (standardWebhooks) traced["webhook-signature"] = "[redacted]";
  }
  for (const [name, value] of custom) traced[name] = carriesCredential(name) ? "[redacted]" : value;
  return traced;
}

/** A client chooses its message ids; what a header cannot carry of one is percent-encoded. */
function headerSafe(messageId: string): string {
  if (/^[\x21-\x7e]+$/.test(messageId)) return messageId;
  // Through UTF-8 and back: half a surrogate pair, which has no encoding, becomes U+FFFD.
  return encodeURIComponent(Buffer.from(messageId, "utf8").toString("utf8"));
}
