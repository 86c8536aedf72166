/** Why an exchange got no response. A test compares them with `docs/reference/webhook-delivery.md`. */
export const FAILURE_CODES = [
  "timeout",
  "dns_failed",
  "connection_refused",
  "connection_lost",
  "unreachable",
  "tls_failed",
  "bad_response",
  "certificate_invalid",
  "address_not_allowed",
  "aborted",
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

export interface Failure {
  readonly code: FailureCode;
  /** Says what to do about it. */
  readonly message: string;
}

/** Error codes of operating system, TLS and undici → our code and message. */
const BY_CODE: Readonly<Record<string, readonly [FailureCode, string]>> = {
  ENOTFOUND: [
    "dns_failed",
    "The host name does not exist. Check the URL's spelling and the name's DNS records",
  ],
  ENODATA: ["dns_failed", "The host name has no address. Check the name's DNS records"],
  EAI_AGAIN: ["dns_failed", "The name server did not answer. Check the collector's DNS settings"],
  EAI_FAIL: ["dns_failed", "The name server failed. Check the collector's DNS settings"],
  ECONNREFUSED: [
    "connection_refused",
    "Nothing listens at that address and port. Check that the receiver runs, and the URL's port",
  ],
  ECONNRESET: ["connection_lost", "The receiver closed the connection before it had answered"],
  EPIPE: ["connection_lost", "The receiver closed the connection before it had answered"],
  UND_ERR_SOCKET: ["connection_lost", "The receiver closed the connection before it had answered"],
  ETIMEDOUT: ["timeout", "The connection could not be opened in time. Check firewalls on the way"],
  UND_ERR_CONNECT_TIMEOUT: [
    "timeout",
    "The connection could not be opened in time. Check firewalls on the way",
  ],
  EHOSTUNREACH: ["unreachable", "There is no route to that address"],
  ENETUNREACH: ["unreachable", "There is no route to that address"],
  EADDRNOTAVAIL: ["unreachable", "The collector has no free port or address for the connection"],
  UND_ERR_HEADERS_OVERFLOW: ["bad_response", "The answer's headers are over 16 KB"],
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: ["bad_response", "The answer's body is not as long as it said"],
  DEPTH_ZERO_SELF_SIGNED_CERT: [
    "certificate_invalid",
    "The certificate is self-signed, so no request was sent. Use one from a public authority, or set `caFile` to the file that holds it",
  ],
  SELF_SIGNED_CERT_IN_CHAIN: [
    "certificate_invalid",
    "The certificate chain ends in a self-signed certificate that is not trusted, so no request was sent. Use a public authority's, or set `caFile` to your authority's certificate",
  ],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [
    "certificate_invalid",
    "The certificate's chain is not complete, so no request was sent. Let the receiver send its intermediate certificates, or set `caFile`",
  ],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: [
    "certificate_invalid",
    "The certificate's issuer is not trusted, so no request was sent. Use a public authority's certificate, or set `caFile` to your authority's",
  ],
  CERT_HAS_EXPIRED: ["certificate_invalid", "The certificate has expired, so no request was sent. Renew it"],
  CERT_NOT_YET_VALID: [
    "certificate_invalid",
    "The certificate is not valid yet, so no request was sent. Check both machines' clocks",
  ],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    "certificate_invalid",
    "The certificate is for another host name, so no request was sent. Use one that names the URL's host",
  ],
};

/** Describes the error of an exchange for storage and display. Never quotes headers or bodies. */
export function describeFailure(error: unknown): Failure {
  const cause = rootOf(error);
  const code = codeOf(cause);
  if (code === "ERR_EGRESS_REFUSED") return { code: "address_not_allowed", message: messageOf(cause) };
  const known = BY_CODE[code];
  if (known !== undefined) return { code: known[0], message: `${known[1]} (${code})` };
  if (code.startsWith("HPE_") || (cause instanceof Error && cause.name === "HTTPParserError")) {
    return { code: "bad_response", message: "The answer is not valid HTTP/1.1" };
  }
  if (/^(CERT_|ERR_TLS_CERT|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH|UNABLE_TO_)/.test(code)) {
    return {
      code: "certificate_invalid",
      message: `The certificate is not valid, so no request was sent (${code})`,
    };
  }
  if (code === "EPROTO" || code.startsWith("ERR_SSL") || code.startsWith("ERR_TLS")) {
    return {
      code: "tls_failed",
      message: `The TLS connection could not be made; the collector asks for TLS 1.2 or newer (${code})`,
    };
  }
  return {
    code: "connection_lost",
    message: `The exchange failed (${code === "" ? messageOf(cause) : code})`,
  };
}

/** If several addresses of a name were tried, the first error stands for all of them. */
function rootOf(error: unknown): unknown {
  return error instanceof AggregateError && error.errors.length > 0 ? rootOf(error.errors[0]) : error;
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
