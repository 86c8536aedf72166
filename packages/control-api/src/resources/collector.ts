import { Type } from "@sinclair/typebox";
import type { EndpointTable } from "../endpoint.js";
import { closed, described, ListQuery, listOf, oneOf, type Shape } from "../endpoint.js";
import { Region } from "./sources.js";

export const TokenAccess = oneOf(["full", "read", "metrics"], {
  description: "`read`: it cannot change anything. `metrics`: it can only read `/metrics`",
});
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
  targetName: Type.Optional(Type.String({ description: "Its name when it was changed, if it has one" })),
  change: Type.Optional(Type.Unknown({ description: "The request's body, with secrets replaced" })),
});
export type AuditEntryView = Shape<typeof AuditEntryView>;

const PerSecond = Type.Optional(Type.Integer({ description: "Absent: no limit" }));

/** The limits that protect disk and collector, as they are in force. */
export const LimitsView = Type.Object({
  retentionMs: Type.Optional(Type.Integer({ description: "How long messages are kept. Absent: forever" })),
  retentionBytes: Type.Optional(
    Type.Integer({ description: "Disk space for messages, `auto` resolved. Absent: no limit" }),
  ),
  messagesPerSecond: described(
    Type.Object({ server: PerSecond, web: PerSecond, mobile: PerSecond }),
    "Of each source of this kind without a limit of its own",
  ),
});
export type LimitsView = Shape<typeof LimitsView>;

/** The disk with the data folder. */
export const DiskView = Type.Object({
  freeBytes: Type.Integer(),
  totalBytes: Type.Integer(),
  lowBelowBytes: Type.Integer({ description: "With less free space, the disk counts as nearly full" }),
});
export type DiskView = Shape<typeof DiskView>;

export const StorageView = Type.Union([
  Type.Object({ kind: Type.Literal("ready") }),
  Type.Object({ kind: Type.Literal("unavailable"), reason: Type.String(), since: Type.String() }),
]);

export const CollectorInfo = Type.Object({
  version: Type.String(),
  mode: oneOf(["dev", "production"]),
  publicUrl: Type.Optional(
    Type.String({ description: "The URL at which clients send messages, where it is configured" }),
  ),
  region: Type.Optional(Region),
  node: Type.String(),
  startedAt: Type.String(),
  now: Type.String({ description: "The collector's clock" }),
  storage: StorageView,
  disk: Type.Optional(
    described(DiskView, "The disk with the data folder. Absent: the collector cannot read its free space"),
  ),
  limits: LimitsView,
  cluster: Type.Optional(
    described(
      Type.Object({
        name: Type.String(),
        node: Type.String({ description: "The process that answered: the owner" }),
      }),
      "Absent: the collector runs on its own",
    ),
  ),
  token: described(TokenView, "The token of the request"),
});
export type CollectorInfo = Shape<typeof CollectorInfo>;

export const tokenEndpoints = {
  "POST /tokens": {
    name: "tokens.create",
    summary:
      "Create an admin token; one with `read` access cannot change anything, one with `metrics` access can only read `/metrics`",
    access: "write",
    body: closed({
      name: Type.String({ minLength: 1, maxLength: 200 }),
      access: Type.Optional(described(TokenAccess, "Default: `full`")),
    }),
    answer: { status: 201, description: "The token, shown only once", schema: CreatedTokenView },
    isAnswerSecret: true,
    commands: [
      { name: "tokens create", arguments: ["name"], text: "{token}", example: "dashboards --access read" },
    ],
  },
  "GET /tokens": {
    name: "tokens.list",
    summary: "List the names of the admin tokens, never the tokens themselves",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of tokens", schema: listOf(TokenView) },
    commands: [{ name: "tokens list", columns: "id name access createdAt" }],
  },
  "DELETE /tokens/:id": {
    name: "tokens.revoke",
    summary: "Revoke an admin token: it is refused from now on, and its live streams and waits end",
    access: "write",
    answer: { status: 204, description: "The token is revoked" },
    errors: ["not_found", "conflict"],
    commands: [
      {
        name: "tokens revoke",
        confirm: "Revoke the token {name} ({id})",
        done: "revoked",
        example: "dashboards --yes",
      },
    ],
  },
} as const satisfies EndpointTable;

export const collectorEndpoints = {
  "GET /audit": {
    name: "audit.list",
    summary: "List changes with the token that made them, newest first; the newest 10,000 are kept",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of changes", schema: listOf(AuditEntryView) },
    commands: [
      {
        name: "audit",
        columns: "at TOKEN:tokenName action targetName target change",
        limit: 50,
        example: "-n 10",
      },
    ],
  },
  "GET /info": {
    name: "collector.info",
    summary: "Get the collector's version, mode, region and health, and the token of the request",
    access: "read",
    answer: { status: 200, description: "The collector", schema: CollectorInfo },
  },
  "POST /backups": {
    name: "backups.create",
    summary:
      "Back up the running collector: a tar archive of everything that was acknowledged before, with the secret key. Its last file, SHA256SUMS, has the checksums of the others. If the backup fails, the connection is cut before the end. One at a time",
    access: "write",
    answer: { status: 200, description: "The archive", contentType: "application/x-tar" },
    errors: ["conflict", "storage_unavailable"],
  },
  "POST /reset": {
    name: "collector.reset",
    summary:
      "Dev mode only: delete every message, delivery, refused message, count and profile. Sources, destinations, audiences, computed traits and tokens stay",
    access: "write",
    answer: { status: 204, description: "Everything is deleted" },
    errors: ["not_found"],
    commands: [{ name: "reset", done: "deleted all messages, outcomes and profiles" }],
  },
} as const satisfies EndpointTable;
