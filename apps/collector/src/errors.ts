import { STORE_ERRORS, StoreError } from "@sluice/event-log";

/** Every code the collector can answer with. `docs/reference/errors.md` has one heading per key; a test compares. */
export const ERRORS = {
  malformed_json: { status: 400, retryable: false, message: "The request body is not valid JSON" },
  invalid_message: { status: 400, retryable: false, message: "The message is not valid" },
  invalid_request: { status: 400, retryable: false, message: "The request is not valid" },
  invalid_write_key: { status: 401, retryable: false, message: "The write key is missing or unknown" },
  unauthorized: {
    status: 401,
    retryable: false,
    message: "An admin token is required: Authorization: Bearer TOKEN",
  },
  forbidden: { status: 403, retryable: false, message: "This token may only read" },
  host_not_allowed: { status: 403, retryable: false, message: "This does not answer under this name" },
  not_found: { status: 404, retryable: false, message: "There is nothing at this address" },
  method_not_allowed: { status: 405, retryable: false, message: "This address does not answer this method" },
  request_timeout: { status: 408, retryable: true, message: "The request took too long to arrive" },
  wait_timed_out: { status: 408, retryable: true, message: "What was waited for did not happen in time" },
  wait_impossible: { status: 409, retryable: false, message: "What is waited for cannot happen any more" },
  url_disabled: {
    status: 409,
    retryable: false,
    message: "Every URL of the destination answered 410 Gone and is disabled",
  },
  conflict: { status: 409, retryable: false, message: STORE_ERRORS.conflict },
  precondition_failed: {
    status: 412,
    retryable: false,
    message: "It is not at the version that If-Match names",
  },
  payload_too_large: { status: 413, retryable: false, message: "The request body is over the limit" },
  unsupported_encoding: {
    status: 415,
    retryable: false,
    message: "The Content-Encoding is not gzip, deflate or br",
  },
  headers_too_large: {
    status: 431,
    retryable: false,
    message: "The request line and the headers are over 16 KB together",
  },
  wrong_region: { status: 421, retryable: false, message: "This write key belongs to another region" },
  rate_limited: { status: 429, retryable: true, message: "Too many requests" },
  internal: { status: 500, retryable: true, message: "The collector failed to handle this request" },
  not_in_force: {
    status: 500,
    retryable: false,
    message: STORE_ERRORS.not_in_force,
  },
  data_damaged: { status: 500, retryable: false, message: STORE_ERRORS.data_damaged },
  storage_unavailable: { status: 503, retryable: true, message: STORE_ERRORS.storage_unavailable },
  overloaded: { status: 503, retryable: true, message: "The collector holds as much as it may in memory" },
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** Where it is known what exactly is wrong, the catalogue's sentence would only say the same in general. */
const DETAIL_SAYS_ALL: ReadonlySet<ErrorCode> = new Set([
  "invalid_request",
  "unauthorized",
  "not_found",
  "wait_timed_out",
  "wait_impossible",
  "url_disabled",
  "conflict",
  "precondition_failed",
  "rate_limited",
]);

function sentence(code: ErrorCode, detail: string | undefined): string {
  if (detail === undefined) return ERRORS[code].message;
  return DETAIL_SAYS_ALL.has(code) ? detail : `${ERRORS[code].message}: ${detail}`;
}

/** A failure with a code of the catalogue; the message begins with the code and carries the value that was wrong. */
export class CollectorError extends Error {
  override readonly name = "CollectorError";
  readonly code: ErrorCode;
  /** The message without code and sentence. */
  readonly detail: string | undefined;
  /** Further fields of the answer's body. */
  readonly details: { readonly [name: string]: unknown };

  constructor(
    code: ErrorCode,
    detail?: string,
    options: { cause?: unknown; details?: { readonly [name: string]: unknown } } = {},
  ) {
    super(`${code}: ${sentence(code, detail)}`, {
      cause: options.cause,
    });
    this.code = code;
    this.detail = detail;
    this.details = options.details ?? {};
  }
}

/** The error as the collector answers it: its own errors and the store's keep their code, everything else is `internal`. */
export function collectorErrorOf(error: unknown): CollectorError {
  if (error instanceof CollectorError) return error;
  if (error instanceof StoreError)
    return new CollectorError(error.code, error.detail, { cause: error, details: error.details });
  return new CollectorError("internal", undefined, { cause: error });
}
