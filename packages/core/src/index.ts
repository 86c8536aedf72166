export { backgroundClock, type Clock } from "@sluice/resilience";
export type { Batch, HeldMessage } from "./batch.js";
export { ConfigError } from "./config-error.js";
export { contained } from "./contained.js";
export { createEngine, type Engine } from "./engine.js";
export { type Fetch, fetchTransport } from "./fetch-transport.js";
export type { Instrument, InstrumentedEnd, InstrumentedRequest } from "./instrument.js";
export {
  type AnalyticsOptions,
  DEFAULTS,
  flag,
  integer,
  type ResolvedOptions,
  resolveOptions,
} from "./options.js";
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
} from "./plan.js";
export type { Platform } from "./platform.js";
export { goDefaults, rubyDefaults } from "./presets.js";
export { reasonOf } from "./reason-of.js";
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
} from "./reports.js";
export { fromSnakeCase } from "./snake-case.js";
export type { Kept, Spool, SpooledBatch } from "./spool.js";
export { ANSWER_BYTES, type Transport, type TransportOutcome, type TransportRequest } from "./transport.js";
export { viewArguments } from "./view-arguments.js";
