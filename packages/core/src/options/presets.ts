import type { AnalyticsOptions } from "./options.js";

/** The Go library's behaviour: a flush every 20 messages or 5 seconds. These are also the defaults. */
export const goDefaults = {
  flushPolicy: "batched",
  flushAt: 20,
  flushAfter: 5_000,
} as const satisfies Partial<AnalyticsOptions>;

/** The Ruby library's behaviour: the first message is sent at once, then whatever is queued when a request ends. */
export const rubyDefaults = {
  flushPolicy: "eager",
  batchSize: 100,
  maxQueueSize: 10_000,
} as const satisfies Partial<AnalyticsOptions>;
