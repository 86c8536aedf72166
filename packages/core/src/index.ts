export { backgroundClock, type Clock } from "@sluice/resilience";
export { createEngine, type Engine } from "./engine.js";
export { ConfigError } from "./errors/config-error.js";
export { contained } from "./errors/contained.js";
export { reasonOf } from "./errors/reason-of.js";
export type { Batch, HeldMessage } from "./message/batch.js";
export { fromSnakeCase } from "./message/snake-case.js";
export type {
  AliasCall,
  CallFields,
  GroupCall,
  IdentifyCall,
  Identity,
  PageCall,
  ScreenCall,
  TrackCall,
  TrackingPlan,
  View,
} from "./message/tracking-plan.js";
export { viewArguments } from "./message/view-arguments.js";
export {
  type AnalyticsOptions,
  DEFAULTS,
  flag,
  integer,
  type ResolvedOptions,
  resolveOptions,
} from "./options/options.js";
export { goDefaults, rubyDefaults } from "./options/presets.js";
export type { Platform } from "./platform.js";
export type {
  AnalyticsEvents,
  ErrorDetail,
  FlushResult,
  LostMessage,
  OnError,
  Receipt,
  RefusalReason,
  RefusedMessage,
  RequestReport,
  Stats,
} from "./reporting/reports.js";
export type { Instrument, InstrumentedEnd, InstrumentedRequest } from "./sending/instrument.js";
export type { Kept, Spool, SpooledBatch } from "./sending/spool.js";
export { type Fetch, fetchTransport } from "./transport/fetch-transport.js";
export {
  ANSWER_BYTES,
  type Transport,
  type TransportOutcome,
  type TransportRequest,
} from "./transport/transport.js";
