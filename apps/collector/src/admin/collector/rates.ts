import { type Static, Type } from "@sinclair/typebox";
import { RATE_SPAN_NAMES, type RatesView } from "@sluice/protocol";
import type { RateHistory } from "../../process/rate-history.js";
import { endpoint } from "../endpoint.js";
import type { SameShape } from "../same-shape.js";

const Milliseconds = Type.Number({ description: "Of what was delivered in it; absent when nothing was" });

const RatesSchema = Type.Object({
  everyMs: Type.Integer({ description: "The time between two points" }),
  points: Type.Array(
    Type.Object({
      at: Type.String({ description: "Its end" }),
      overMs: Type.Integer({ description: "How long it is" }),
      accepted: Type.Integer(),
      rejected: Type.Integer(),
      delivered: Type.Integer({ description: "Counts once for each destination" }),
      failed: Type.Integer({ description: "Given up" }),
      retried: Type.Integer({ description: "Rounds that failed and are repeated" }),
      latencyP50Ms: Type.Optional(Milliseconds),
      latencyP99Ms: Type.Optional(Milliseconds),
    }),
  ),
});
const _rates: SameShape<Static<typeof RatesSchema>, RatesView> = true;

export const collectorRates = (history: Pick<RateHistory, "read">) =>
  endpoint({
    name: "collector.rates",
    method: "GET",
    path: "/rates",
    summary:
      "What was accepted, delivered and failed over the last minutes, hour or day, oldest first; kept over restarts, of which a kill takes the last minute",
    access: "read",
    query: Type.Object(
      {
        span: Type.Optional(
          Type.Union(
            RATE_SPAN_NAMES.map((span) => Type.Literal(span)),
            { description: "`5m` (a point every 2 s), `1h` (20 s) or `24h` (5 min). Default: `1h`" },
          ),
        ),
      },
      { additionalProperties: false },
    ),
    answers: { status: 200, description: "The points", schema: RatesSchema },
    handle: ({ query }) => ({ status: 200, body: history.read(query.span ?? "1h") }),
  });
