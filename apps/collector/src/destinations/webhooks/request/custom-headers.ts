import { ATTEMPT_HEADER, MESSAGE_ID_HEADER, SIGNATURE_HEADER } from "@sluice/protocol";

/** Headers that a webhook's settings must not set: connection headers and headers that the collector sets. */
const RESERVED = new Set(
  [
    "Connection",
    "Content-Encoding",
    "Content-Length",
    "Content-Type",
    "Expect",
    "Host",
    "HTTP2-Settings",
    "Keep-Alive",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
    "User-Agent",
    SIGNATURE_HEADER,
    MESSAGE_ID_HEADER,
    ATTEMPT_HEADER,
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
    "traceparent",
    "tracestate",
  ].map((name) => name.toLowerCase()),
);

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const LONGEST_VALUE = 4_096;

/** Returns why a header is invalid, or undefined. Never quotes the value, because it may be a credential. */
export function headerProblem(name: string, value: unknown): string | undefined {
  // An object cannot have a field of this name without special care, and no receiver asks for it.
  if (!TOKEN.test(name) || name === "__proto__") return `${JSON.stringify(name)} is not a valid header name`;
  const lower = name.toLowerCase();
  if (RESERVED.has(lower) || lower.startsWith("proxy-"))
    return `${name} is set by the collector and cannot be overridden`;
  if (typeof value !== "string") return `The value of ${name} must be a string`;
  if (!FIELD_VALUE.test(value)) {
    return `The value of ${name} contains characters that are not allowed in a header (line breaks, control characters, or characters outside Latin-1)`;
  }
  if (value.length > LONGEST_VALUE) return `The value of ${name} is longer than ${LONGEST_VALUE} characters`;
  return undefined;
}

const CREDENTIAL_NAME = /auth|cookie|token|secret|key|password|passwd|credential|signature|session/i;

/** Whether a header's value is treated as a credential, and so never shown again. */
export function carriesCredential(name: string): boolean {
  return CREDENTIAL_NAME.test(name);
}
