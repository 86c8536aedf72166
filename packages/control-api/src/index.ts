export type {
  AudienceEngineView,
  AudienceInput,
  AudiencePatch,
  AudiencePreview,
  AudienceView,
  Explanation,
  ProfileView,
  SetAsideView,
  SyncSchedule,
  WhyView,
} from "./audiences.js";
export type {
  AuditEntryView,
  CollectorInfo,
  CreatedTokenView,
  RatePointView,
  RateSpan,
  RatesView,
  TokenAccess,
  TokenView,
} from "./collector.js";
export type {
  ComputedTraitDefinition,
  ComputedTraitInput,
  ComputedTraitPatch,
  ComputedTraitPreview,
  ComputedTraitView,
  UserValueView,
  ValuePart,
  ValueWhyView,
} from "./computed-traits.js";
export type { MemberView, SyncView } from "./definitions.js";
export type {
  DeletionInput,
  DeletionPlan,
  DeletionReceipt,
  DeletionStatus,
  DeletionView,
  IdKind,
  SuppressionView,
} from "./deletions.js";
export type {
  DeliveryDetailView,
  DeliveryView,
  ReplayFilter,
  ReplayInput,
  ReplayView,
} from "./deliveries.js";
export type {
  CatalogEntryView,
  DestinationHealthView,
  DestinationInput,
  DestinationPatch,
  DestinationStatusView,
  DestinationView,
  FilterRuleView,
  TestSendView,
} from "./destinations.js";
export type { EndpointSpec, EndpointTable, Method } from "./endpoint.js";
export {
  type AnswerOf,
  type BodyOf,
  ENDPOINTS,
  type EndpointKey,
  type ParamsOf,
  type QueryOf,
} from "./endpoints.js";
export { DEFAULT_LIMIT, type ListAnswer } from "./list.js";
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
  StoredMessageView,
  WaitStateView,
} from "./messages.js";
export type { Shape } from "./shape.js";
export type {
  SourceIdentityView,
  SourceInput,
  SourceKindView,
  SourcePatch,
  SourceView,
  UsageView,
  WriteKeyView,
} from "./sources.js";
