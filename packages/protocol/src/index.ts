export { asNumber, compare, lookUp } from "./conditions/compare.js";
export {
  type AllOf,
  type AnyOf,
  type AudienceCondition,
  audienceKey,
  COMPARISONS,
  COMPUTED_TRAIT_KINDS,
  CONDITION_LIMITS,
  type Comparison,
  type ComparisonValue,
  type ComputedTraitKind,
  type Condition,
  type EventCondition,
  type Not,
  type PropertyTest,
  type Scalar,
  type Times,
  type TraitCondition,
} from "./conditions/conditions.js";
export {
  CONDITION_ISSUES,
  type ConditionIssue,
  type ConditionIssueCode,
  validateComparison,
  validateCondition,
} from "./conditions/validate-condition.js";
export {
  asksMessage,
  asksOutcomes,
  compileFilter,
  type FilterSubject,
  matchesFilter,
  messageTerms,
  outcomeTerms,
} from "./filter/match-filter.js";
export {
  EMPTY_FILTER,
  FILTER_FIELDS,
  type FilterField,
  type FilterTerm,
  type MessageFilter,
} from "./filter/message-filter.js";
export {
  FILTER_LIMITS,
  type FilterIssue,
  type FilterParse,
  formatFilter,
  parseFilter,
} from "./filter/parse-filter.js";
export type { ErrorBody, IngestErrorCode, IngestSuccess, RejectedMessage } from "./ingest-answer.js";
export {
  ATTEMPT_HEADER,
  KB,
  LIMITS,
  MESSAGE_ID_HEADER,
  RETRY_COUNT_HEADER,
  SIGNATURE_HEADER,
  USER_AGENT,
} from "./limits.js";
export { coerce, isPlainObject, kindOf, type Surroundings } from "./messages/coerce.js";
export { ISSUES, type Issue, type IssueCode, issue } from "./messages/issues.js";
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
} from "./messages/message.js";
export { formatTime, parseTime, resolveTime } from "./messages/timestamps.js";
export { remarks, validate } from "./messages/validate.js";
export { type PayloadShape, webhookPayload } from "./messages/webhook-payload.js";
export {
  isPlanned,
  planIssues,
  planViolations,
  requestBudget,
  type StepBudget,
} from "./plans/check-message.js";
export { typeOf as jsonTypeOf, type Violation } from "./plans/check-value.js";
export {
  BOUNDS,
  type Definitions,
  type JsonType,
  NAMED_KINDS,
  PLAN_LIMITS,
  type Plan,
  type PlanIssue,
  type Schema,
  UNNAMED_KINDS,
} from "./plans/plan.js";
export { planTypes } from "./plans/plan-types.js";
export { type PlanReading, readPlan } from "./plans/read-plan.js";
export {
  AUDIENCE_SOURCE_ID,
  DEFAULT_REGION,
  INCIDENT_SOURCE_ID,
  isBuiltInSource,
  isRegion,
  LOCAL_COLLECTOR_URL,
  REGIONS,
  type Region,
  regionOfWriteKey,
  writeKeyPrefix,
} from "./regions.js";
export {
  FIRST_RETRY_WITHIN_MS,
  RETRY_WINDOW,
  type RetrySchedule,
  retrySchedule,
  retryTiming,
} from "./retry-schedule.js";
export { readTraceContext, type TraceContext } from "./trace-context.js";
