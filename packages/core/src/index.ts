export { backgroundClock, type Clock } from "@sluice/resilience";
export { createEngine, type Engine } from "./engine.js";
export { ConfigError, contained, reasonOf } from "./errors.js";
export type { RefusalReason } from "./message/accept.js";
export type { Batch, HeldMessage, LostMessage } from "./message/batch.js";
export type { BeforeSend, OutgoingMessage } from "./message/before-send.js";
export type { CallContext, ContextCalls, ContextStorage, TraceApi } from "./message/call-context.js";
export { viewArguments, viewOptions } from "./message/call-context.js";
export { fromSnakeCase } from "./message/snake-case.js";
export type {
  AliasCall,
  CallFields,
  Fields,
  GroupCall,
  IdentifyCall,
  Identity,
  PageCall,
  ScreenCall,
  TrackCall,
  TrackingPlan,
  View,
} from "./message/tracking-plan.js";
export { type AnalyticsOptions, DEFAULTS, goDefaults, rubyDefaults } from "./options/options.js";
export { flag, integer, readOptions } from "./options/read-option.js";
export { type ResolvedOptions, resolveOptions } from "./options/resolve-options.js";
export type { Platform } from "./platform.js";
export type { QueueBound } from "./queue/queue-limits.js";
export type { CallOptions, WaitUntil } from "./queue/request-flush.js";
export type {
  AnalyticsEvents,
  ErrorDetail,
  FlushResult,
  OnError,
  Receipt,
  RefusedMessage,
  Stats,
  WithheldReason,
} from "./reporting/reports.js";
export type { RequestReport } from "./sending/http-sender.js";
export type { Instrument, InstrumentedEnd, InstrumentedRequest } from "./sending/instrument.js";
export type { Kept, Spool, SpooledBatch } from "./sending/sender.js";
export {
  ANSWER_BYTES,
  type Fetch,
  fetchTransport,
  type Transport,
  type TransportOutcome,
  type TransportRequest,
} from "./transport.js";
