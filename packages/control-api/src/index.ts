export type { CommandSpec, EndpointSpec, EndpointTable, Method, Shape } from "./endpoint.js";
export { DEFAULT_LIMIT, type ListAnswer } from "./endpoint.js";
export {
  type AnswerOf,
  type BodyOf,
  ENDPOINTS,
  type EndpointKey,
  type ParamsOf,
  type QueryOf,
} from "./endpoints.js";
export { causeOf, describeCause, describeReason, type FailureCause } from "./failure-causes.js";
export type {
  CollectorHealthView,
  DestinationHealthView,
  DestinationStatusView,
  HealthSummaryView,
  IncidentKind,
  IncidentView,
  ProblemsView,
  UrlHealthView,
} from "./health.js";
export { HEALTH_WORDS, type HealthLevel, type HealthWords } from "./health.js";
export type {
  AudienceEngineView,
  AudienceInput,
  AudiencePatch,
  AudiencePreview,
  AudienceView,
  Explanation,
  ProfileListView,
  ProfileSummaryView,
  ProfileView,
  SetAsideView,
  SyncSchedule,
  WhyView,
} from "./resources/audiences.js";
export type { ClusterMemberView, ClusterOwnerView, ClusterRole, ClusterView } from "./resources/cluster.js";
export type {
  AuditEntryView,
  CollectorInfo,
  CreatedTokenView,
  DiskView,
  LimitsView,
  TokenAccess,
  TokenView,
} from "./resources/collector.js";
export type {
  ComputedTraitDefinition,
  ComputedTraitInput,
  ComputedTraitPatch,
  ComputedTraitPreview,
  ComputedTraitView,
  UserValueView,
  ValuePart,
  ValueWhyView,
} from "./resources/computed-traits.js";
export type {
  ActivityView,
  AudienceSizesView,
  DestinationRatePointView,
  DestinationRatesView,
  RatePointView,
  RateSpan,
  RatesView,
  SizeSpan,
} from "./resources/counters.js";
export type { MemberView, SyncView } from "./resources/definitions.js";
export type {
  DeletionInput,
  DeletionPlan,
  DeletionReceipt,
  DeletionStatus,
  DeletionView,
  IdKind,
  SuppressionView,
} from "./resources/deletions.js";
export type {
  DeliveryDetailView,
  DeliveryGroupPage,
  DeliveryGroupView,
  DeliveryView,
} from "./resources/deliveries.js";
export type {
  CatalogEntryView,
  DestinationInput,
  DestinationPatch,
  DestinationView,
  FilterRuleView,
  RetryScheduleView,
  TestSendView,
} from "./resources/destinations.js";
export { NOTIFY_AFTER } from "./resources/destinations.js";
export type {
  AttemptView,
  DeliveryStateView,
  DroppedView,
  FinalStateView,
  LiveEventView,
  MessageSummary,
  MessageView,
  OutcomeSummary,
  OutcomeView,
  RejectedMessageView,
  RequestBodyView,
  StoredMessageView,
  WaitStateView,
} from "./resources/messages.js";
export type {
  OperationCount,
  OperationFilter,
  OperationInput,
  OperationKind,
  OperationView,
  ReplayFilter,
  ReplayInput,
  ReplayView,
} from "./resources/operations.js";
export type {
  EventListView,
  EventNamesView,
  EventView,
  PlanModeView,
  SourceIdentityView,
  SourceInput,
  SourceKindView,
  SourcePatch,
  SourcePlanInput,
  SourcePlanView,
  SourceView,
  UsageView,
  WriteKeyView,
} from "./resources/sources.js";
export type {
  TransformationDryRun,
  TransformationDryRunView,
  TransformationInput,
  TransformationLanguage,
  TransformationPatch,
  TransformationResult,
  TransformationTest,
  TransformationTestView,
  TransformationVersionView,
  TransformationView,
} from "./resources/transformations.js";
