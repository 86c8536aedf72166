export { audienceKey } from "./audience-key.js";
export { coerce, isPlainObject, kindOf, type Surroundings } from "./coerce.js";
export { asNumber, compare, lookUp } from "./compare.js";
export { COMPUTED_TRAIT_KINDS, type ComputedTraitKind } from "./computed-traits.js";
export {
  type AllOf,
  type AnyOf,
  type AudienceCondition,
  COMPARISONS,
  CONDITION_LIMITS,
  type Comparison,
  type ComparisonValue,
  type Condition,
  type EventCondition,
  type Not,
  type PropertyTest,
  type Scalar,
  type Times,
  type TraitCondition,
} from "./conditions.js";
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
export {
  asksMessage,
  asksOutcomes,
  compileFilter,
  EMPTY_FILTER,
  FILTER_FIELDS,
  FILTER_LIMITS,
  type FilterField,
  type FilterIssue,
  type FilterParse,
  type FilterSubject,
  type FilterTerm,
  formatFilter,
  type MessageFilter,
  matchesFilter,
  messageTerms,
  outcomeTerms,
  parseFilter,
} from "./message-filter.js";
export {
  DEFAULT_REGION,
  isRegion,
  LOCAL_COLLECTOR_URL,
  REGIONS,
  type Region,
  regionOfWriteKey,
  writeKeyPrefix,
} from "./regions.js";
export { formatTime, parseTime, resolveTime } from "./timestamps.js";
export { remarks, validate } from "./validate.js";
export {
  CONDITION_ISSUES,
  type ConditionIssue,
  type ConditionIssueCode,
  validateComparison,
  validateCondition,
} from "./validate-condition.js";
export { type PayloadShape, webhookPayload } from "./webhook-payload.js";
