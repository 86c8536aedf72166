import { Type } from "@sinclair/typebox";
import type { EndpointTable } from "./endpoint.js";
import { ListQuery, listOf } from "./list.js";
import { closed, described, oneOf, type Shape } from "./shape.js";
import { Region } from "./sources.js";

export const TokenAccess = oneOf(["full", "read"]);
export type TokenAccess = Shape<typeof TokenAccess>;

export const TokenView = Type.Object({
  id: Type.String(),
  name: Type.String(),
  access: TokenAccess,
  createdAt: Type.String(),
});
export type TokenView = Shape<typeof TokenView>;

export const CreatedTokenView = Type.Object({
  ...TokenView.properties,
  token: Type.String({ description: "Shown only once: the collector keeps its hash" }),
});
export type CreatedTokenView = Shape<typeof CreatedTokenView>;

export const AuditEntryView = Type.Object({
  id: Type.String(),
  at: Type.String(),
  tokenId: Type.String({ description: "The token that made the request" }),
  tokenName: Type.String(),
  action: Type.String({ description: "Such as `destinations.patch`" }),
  target: Type.Optional(Type.String({ description: "The id of the changed resource" })),
  change: Type.Optional(Type.Unknown({ description: "The request's body, with secrets replaced" })),
});
export type AuditEntryView = Shape<typeof AuditEntryView>;

export const CollectorInfo = Type.Object({
  version: Type.String(),
  mode: oneOf(["dev", "production"]),
  region: Type.Optional(Region),
  node: Type.String(),
  startedAt: Type.String(),
  now: Type.String({ description: "The collector's clock" }),
  storage: Type.Union([
    Type.Object({ kind: Type.Literal("ready") }),
    Type.Object({ kind: Type.Literal("unavailable"), reason: Type.String(), since: Type.String() }),
  ]),
  token: described(TokenView, "The token of the request"),
});
export type CollectorInfo = Shape<typeof CollectorInfo>;

const SPANS = ["5m", "1h", "24h"] as const;
export const RateSpan = oneOf(SPANS, {
  description: "`5m` (a point every 2 s), `1h` (20 s) or `24h` (5 min). Default: `1h`",
});
export type RateSpan = Shape<typeof RateSpan>;

const LatencyMs = Type.Number({
  description: "From receipt to delivery, of the messages delivered in it. Absent: none was delivered",
});

/** Counts of one interval; not rates. */
export const RatePointView = Type.Object({
  at: Type.String({ description: "The end of the interval" }),
  overMs: Type.Integer({ description: "The length of the interval" }),
  accepted: Type.Integer(),
  rejected: Type.Integer(),
  delivered: Type.Integer({ description: "Counted once per destination" }),
  failed: Type.Integer({ description: "Given up" }),
  retried: Type.Integer({ description: "Failed attempts that are repeated" }),
  latencyP50Ms: Type.Optional(LatencyMs),
  latencyP99Ms: Type.Optional(LatencyMs),
});
export type RatePointView = Shape<typeof RatePointView>;

export const RatesView = Type.Object({
  everyMs: Type.Integer({ description: "The time between two points" }),
  points: Type.Array(RatePointView, {
    description: "Oldest first; there are none for the time in which the collector did not run",
  }),
});
export type RatesView = Shape<typeof RatesView>;

export const tokenEndpoints = {
  "POST /tokens": {
    name: "tokens.create",
    summary: "Create an admin token; one with `read` access cannot change anything",
    access: "write",
    body: closed({
      name: Type.String({ minLength: 1, maxLength: 200 }),
      access: Type.Optional(described(TokenAccess, "Default: `full`")),
    }),
    answer: { status: 201, description: "The token, shown only once", schema: CreatedTokenView },
    isAnswerSecret: true,
  },
  "GET /tokens": {
    name: "tokens.list",
    summary: "List the names of the admin tokens, never the tokens themselves",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of tokens", schema: listOf(TokenView) },
  },
  "DELETE /tokens/:id": {
    name: "tokens.revoke",
    summary: "Revoke an admin token: it is refused from now on, and its live streams and waits end",
    access: "write",
    answer: { status: 204, description: "The token is revoked" },
    errors: ["not_found", "conflict"],
  },
} as const satisfies EndpointTable;

export const collectorEndpoints = {
  "GET /audit": {
    name: "audit.list",
    summary: "List changes with the token that made them, newest first; the newest 10,000 are kept",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of changes", schema: listOf(AuditEntryView) },
  },
  "GET /info": {
    name: "collector.info",
    summary: "Get the collector's version, mode, region and health, and the token of the request",
    access: "read",
    answer: { status: 200, description: "The collector", schema: CollectorInfo },
  },
  "POST /reset": {
    name: "collector.reset",
    summary:
      "Dev mode only: delete every message, delivery, refused message, count and profile. Sources, destinations, audiences, computed traits and tokens stay",
    access: "write",
    answer: { status: 204, description: "Everything is deleted" },
    errors: ["not_found"],
  },
  "GET /rates": {
    name: "collector.rates",
    summary:
      "Count what was accepted, delivered and failed over the last minutes, hour or day, oldest first. Counts survive restarts, but a killed collector loses its last minute",
    access: "read",
    query: closed({ span: Type.Optional(RateSpan) }),
    answer: { status: 200, description: "The points", schema: RatesView },
  },
} as const satisfies EndpointTable;
