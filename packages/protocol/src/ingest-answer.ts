import type { IssueCode } from "./issues.js";

/** Codes of error answers of the ingestion API. */
export type IngestErrorCode =
  | "malformed_json"
  | "invalid_message"
  | "invalid_write_key"
  | "not_found"
  | "method_not_allowed"
  | "payload_too_large"
  | "wrong_region"
  | "rate_limited"
  | "storage_unavailable"
  | "overloaded";

/** A message that a batch carried and the collector refused. */
export interface RejectedMessage {
  /** Its place in the batch, from 0. */
  index: number;
  messageId?: string;
  code: IssueCode | (string & {});
  message: string;
}

/** The body of a 200. */
export interface IngestSuccess {
  success: true;
  /** Messages that are on disk now, duplicates of earlier ones included. */
  accepted: number;
  /** Present when some were refused. */
  rejected?: RejectedMessage[];
  /** Present when some had been received before. */
  duplicates?: number;
}

/** The body of every answer that is not a 200, of the control API too. */
export interface ErrorBody {
  success: false;
  code: IngestErrorCode | (string & {});
  message: string;
  [detail: string]: unknown;
}
