import { STORE_ERRORS, StoreError } from "@sluice/event-log";

/** Every error code of the collector. A test compares them with the headings of `docs/reference/errors.md`. */
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
  forbidden: { status: 403, retryable: false, message: "This token is read-only" },
  host_not_allowed: {
    status: 403,
    retryable: false,
    message: "The collector does not accept this host name here",
  },
  not_found: { status: 404, retryable: false, message: "Nothing was found at this address" },
  method_not_allowed: { status: 405, retryable: false, message: "This address does not support the method" },
  request_timeout: { status: 408, retryable: true, message: "The request took too long to arrive" },
  wait_timed_out: { status: 408, retryable: true, message: "The message did not reach the state in time" },
  wait_impossible: { status: 409, retryable: false, message: "The message can no longer reach the state" },
  destination_disabled: { status: 409, retryable: false, message: "The destination is disabled" },
  url_disabled: {
    status: 409,
    retryable: false,
    message: "All URLs of the destination responded with 410 Gone and are disabled",
  },
  conflict: { status: 409, retryable: false, message: STORE_ERRORS.conflict },
  precondition_failed: {
    status: 412,
    retryable: false,
    message: "The resource is not at the version in If-Match",
  },
  payload_too_large: { status: 413, retryable: false, message: "The request body exceeds the limit" },
  unsupported_encoding: {
    status: 415,
    retryable: false,
    message: "The Content-Encoding is not gzip, deflate or br",
  },
  headers_too_large: {
    status: 431,
    retryable: false,
    message: "Request line and headers together exceed 16 KB",
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
  no_owner: {
    status: 503,
    retryable: true,
    message: "No process of the cluster can take the request now. Nothing of it was carried out",
  },
  owner_lost: {
    status: 503,
    retryable: true,
    message:
      "The process that handled the request was lost, or did not finish it in time. It may have been carried out",
  },
  overloaded: {
    status: 503,
    retryable: true,
    message: "The collector has reached its memory limit for requests",
  },
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** The detail of these codes says everything; the general sentence above would only repeat it. */
const DETAIL_SAYS_ALL: ReadonlySet<ErrorCode> = new Set([
  "invalid_request",
  "unauthorized",
  "forbidden",
  "not_found",
  "wait_timed_out",
  "wait_impossible",
  "destination_disabled",
  "url_disabled",
  "conflict",
  "precondition_failed",
  "rate_limited",
]);

function sentence(code: ErrorCode, detail: string | undefined): string {
  if (detail === undefined) return ERRORS[code].message;
  return DETAIL_SAYS_ALL.has(code) ? detail : `${ERRORS[code].message}: ${detail}`;
}

/** An error with a code of the catalogue. The message starts with the code, and names the wrong value. */
export class CollectorError extends Error {
  override readonly name = "CollectorError";
  readonly code: ErrorCode;
  /** The message without code and sentence. */
  readonly detail: string | undefined;
  /** Further fields of the response body. */
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

/** The error to respond with: errors of the collector and of the store keep their code, anything else is `internal`. */
export function collectorErrorOf(error: unknown): CollectorError {
  if (error instanceof CollectorError) return error;
  if (error instanceof StoreError)
    return new CollectorError(error.code, error.detail, { cause: error, details: error.details });
  return new CollectorError("internal", undefined, { cause: error });
}
