import type { IssueCode } from "./messages/issues.js";

/** The error codes of the ingestion API. */
export type IngestErrorCode =
  | "malformed_json"
  | "invalid_message"
  | "invalid_write_key"
  | "not_found"
  | "method_not_allowed"
  | "payload_too_large"
  | "unsupported_encoding"
  | "wrong_region"
  | "rate_limited"
  | "storage_unavailable"
  | "overloaded";

/** A message of a batch that the collector refused. */
export interface RejectedMessage {
  /** Its index in the batch, from 0. */
  index: number;
  messageId?: string;
  code: IssueCode | (string & {});
  message: string;
}

/** The body of a 200 response. */
export interface IngestSuccess {
  success: true;
  /** Messages that are now on disk, including duplicates of earlier ones. */
  accepted: number;
  /** Absent if none was refused. */
  rejected?: RejectedMessage[];
  /** The number of messages that were received before. Absent: none. */
  duplicates?: number;
}

/** The body of every error response, including those of the control API. */
export interface ErrorBody {
  success: false;
  code: IngestErrorCode | (string & {});
  message: string;
  /** As in the header `X-Request-Id` of the response, and in the collector's log. */
  requestId?: string;
  [detail: string]: unknown;
}
