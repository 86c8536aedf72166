export { coerce, isPlainObject, kindOf, type Surroundings } from "./coerce.js";
export {
  ATTEMPT_HEADER,
  MESSAGE_ID_HEADER,
  RETRY_COUNT_HEADER,
  SIGNATURE_HEADER,
  USER_AGENT,
} from "./headers.js";
export type { ErrorBody, IngestErrorCode, IngestSuccess, RejectedMessage } from "./ingest-answer.js";
export { ISSUES, type Issue, type IssueCode, issue } from "./issues.js";
export { KB, LIMITS } from "./limits.js";
export {
  type AliasMessage,
  type BatchEnvelope,
  type CommonFields,
  type GroupMessage,
  type IdentifyMessage,
  type Integrations,
  isMessageKind,
  type JsonObject,
  MESSAGE_KINDS,
  type Message,
  type MessageKind,
  type OutboundKind,
  type PageMessage,
  type ScreenMessage,
  type TrackMessage,
  type UncheckedMessage,
} from "./message.js";
export { DEFAULT_REGION, isRegion, LOCAL_COLLECTOR_URL, REGIONS, type Region } from "./regions.js";
export { formatTime, parseTime, resolveTime } from "./timestamps.js";
export { validate } from "./validate.js";
export { type PayloadShape, webhookPayload } from "./webhook-payload.js";
