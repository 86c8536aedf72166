import type * as prom from "prom-client";
// Loads only these parts: all of prom-client also loads its client of a push gateway, and with it TLS. The version is pinned.
// @ts-expect-error prom-client's types do not have this path.
import untypedCounter from "prom-client/lib/counter.js";
// @ts-expect-error prom-client's types do not have this path.
import untypedDefaultMetrics from "prom-client/lib/defaultMetrics.js";
// @ts-expect-error prom-client's types do not have this path.
import untypedGauge from "prom-client/lib/gauge.js";
// @ts-expect-error prom-client's types do not have this path.
import untypedHistogram from "prom-client/lib/histogram.js";
// @ts-expect-error prom-client's types do not have this path.
import untypedRegistry from "prom-client/lib/registry.js";

export const Counter: typeof prom.Counter = untypedCounter;
export const Gauge: typeof prom.Gauge = untypedGauge;
export const Histogram: typeof prom.Histogram = untypedHistogram;
export const Registry: typeof prom.Registry = untypedRegistry;
export const collectDefaultMetrics: typeof prom.collectDefaultMetrics = untypedDefaultMetrics;
