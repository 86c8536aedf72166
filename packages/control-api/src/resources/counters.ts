import { Type } from "@sinclair/typebox";
import type { EndpointTable } from "../endpoint.js";
import { closed, oneOf, type Shape } from "../endpoint.js";

const SPANS = ["5m", "1h", "24h"] as const;
export const RateSpan = oneOf(SPANS);
export type RateSpan = Shape<typeof RateSpan>;

const LatencyMs = Type.Number({
  description:
    "From receipt to delivery, of the messages delivered in it (`delivered` says how many). Absent: none was delivered",
});

/** What every point has, beside its latencies. */
const INTERVAL = {
  at: Type.String({ description: "The end of the interval" }),
  overMs: Type.Integer({ description: "The length of the interval" }),
};

const LATENCIES = {
  latencyP50Ms: Type.Optional(LatencyMs),
  latencyP99Ms: Type.Optional(LatencyMs),
  latencyMaxMs: Type.Optional(
    Type.Number({ description: "The longest one. The two above are not beyond it. Absent as they are" }),
  ),
  latencyOver: Type.Optional(
    Type.Array(oneOf(["p50", "p99"]), {
      description:
        "Those of the two that are above the largest bucket of the histogram, seven days. Their field has that bound",
    }),
  ),
};

const Failed = Type.Integer({ description: "Given up" });
const Retried = Type.Integer({ description: "Failed attempts that are repeated" });

/** Counts of one interval; not rates. */
export const RatePointView = Type.Object({
  ...INTERVAL,
  accepted: Type.Integer(),
  rejected: Type.Integer(),
  delivered: Type.Integer({ description: "Counted once per destination" }),
  failed: Failed,
  retried: Retried,
  ...LATENCIES,
});
export type RatePointView = Shape<typeof RatePointView>;

const EveryMs = Type.Integer({ description: "The time between two points" });
const OLDEST_FIRST = "Oldest first; there are none for the time in which the collector did not run";

export const RatesView = Type.Object({
  everyMs: EveryMs,
  points: Type.Array(RatePointView, { description: OLDEST_FIRST }),
});
export type RatesView = Shape<typeof RatesView>;

/** Counts of one interval at one destination; not rates. */
export const DestinationRatePointView = Type.Object({
  ...INTERVAL,
  delivered: Type.Integer(),
  failed: Failed,
  retried: Retried,
  ...LATENCIES,
});
export type DestinationRatePointView = Shape<typeof DestinationRatePointView>;

export const DestinationRatesView = Type.Object({
  everyMs: EveryMs,
  kept: Type.Boolean({
    description: "false: there are no points, because they are kept only for the 100 oldest destinations",
  }),
  points: Type.Array(DestinationRatePointView, { description: OLDEST_FIRST }),
});
export type DestinationRatesView = Shape<typeof DestinationRatesView>;

export const SizeSpan = oneOf(["week", "year"]);
export type SizeSpan = Shape<typeof SizeSpan>;

export const AudienceSizesView = Type.Object({
  everyMs: Type.Integer({ description: "The time between two points" }),
  points: Type.Array(
    Type.Object({ at: Type.String(), size: Type.Integer({ description: "Members at that time" }) }),
    {
      description:
        "Oldest first; there are none for the time in which the collector did not run or evaluated the condition for everybody",
    },
  ),
});
export type AudienceSizesView = Shape<typeof AudienceSizesView>;

const LastAt = Type.Optional(Type.String({ description: "Absent: none is known" }));
const InTime = { minimum: 0, description: "In `overMs`" };
export const ActivityView = Type.Object({
  overMs: Type.Integer({
    description:
      "What the counts cover: an hour, or the time since counting began; restarts are no beginning",
  }),
  sources: Type.Array(
    Type.Object({
      sourceId: Type.String(),
      accepted: Type.Integer(InTime),
      lastMessageAt: LastAt,
    }),
  ),
  destinations: Type.Array(
    Type.Object({
      destinationId: Type.String(),
      delivered: Type.Integer(InTime),
      failed: Type.Integer({ ...InTime, description: "Given up, in `overMs`" }),
      retried: Type.Integer({ ...InTime, description: "Failed rounds that are retried, in `overMs`" }),
      lastDeliveryAt: LastAt,
    }),
  ),
});
export type ActivityView = Shape<typeof ActivityView>;

export const counterEndpoints = {
  "GET /counters": {
    name: "counters.get",
    summary:
      "Count over time: the whole collector, a destination or an audience in points, oldest first; or what every source sent and every destination received in the last hour. Points survive restarts, but a killed collector loses its last minutes",
    access: "read",
    query: closed({
      of: Type.Optional(
        Type.String({
          pattern: "^(collector|(destination|audience):.+)$",
          description:
            "`collector`, `destination:ID` or `audience:ID`. Default: the last hour of every source and destination",
        }),
      ),
      span: Type.Optional(
        oneOf(["5m", "1h", "24h", "week", "year"], {
          description:
            "Of collector and destinations: `5m` (a point every 2 s), `1h` (20 s, the default) or `24h` (5 min). Of audiences: `week` (an hour, the default) or `year` (a day)",
        }),
      ),
    }),
    answer: {
      status: 200,
      description: "The points, or the counts of the last hour",
      schema: Type.Union([RatesView, DestinationRatesView, AudienceSizesView, ActivityView]),
    },
    errors: ["not_found"],
  },
} as const satisfies EndpointTable;
