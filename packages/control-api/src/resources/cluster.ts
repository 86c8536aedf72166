import { Type } from "@sinclair/typebox";
import type { EndpointTable } from "../endpoint.js";
import { oneOf, type Shape } from "../endpoint.js";

export const ClusterRole = oneOf(["owner", "starting", "ending", "follower"], {
  description:
    "`owner`: it takes requests and delivers. `starting`: it is becoming the owner. `ending`: it hands over. `follower`: it keeps a copy and passes requests on",
});
export type ClusterRole = Shape<typeof ClusterRole>;

export const ClusterMemberView = Type.Object({
  node: Type.String({ description: "The name of the process in the cluster" }),
  address: Type.String({ description: "Where other processes reach it" }),
  version: Type.String(),
  startedAt: Type.String(),
  role: ClusterRole,
  isAlive: Type.Boolean({ description: "false: nothing was heard of it for a while" }),
  isReady: Type.Boolean({ description: "Its copy follows the log, so it can become the owner" }),
  isDrained: Type.Boolean({ description: "It does not become the owner as long as another process can" }),
  applied: Type.Integer({ description: "The last entry of the log that its copy contains" }),
  behindEntries: Type.Integer({ description: "Entries of the log that its copy does not contain yet" }),
  behindMs: Type.Integer({ description: "For how long its copy has been behind" }),
  heardMsAgo: Type.Integer({ description: "Time since it was last heard of" }),
  problem: Type.Optional(Type.String({ description: "Why its copy does not follow the log" })),
});
export type ClusterMemberView = Shape<typeof ClusterMemberView>;

export const ClusterOwnerView = Type.Object({
  node: Type.String({ description: "The name of the process" }),
  phase: oneOf(["starting", "leading", "ending"]),
  since: Type.String({ description: "When it took over" }),
});
export type ClusterOwnerView = Shape<typeof ClusterOwnerView>;

export const ClusterView = Type.Object({
  name: Type.String(),
  answeredBy: Type.String({ description: "The name of the process that answered" }),
  engine: Type.Union([
    Type.Object({ kind: Type.Literal("connected") }),
    Type.Object({ kind: Type.Literal("disconnected"), reason: Type.String(), since: Type.String() }),
  ]),
  unsafe: Type.Optional(
    Type.String({
      description: "Why acknowledged messages may be lost. Absent: nothing is known to be wrong",
    }),
  ),
  term: Type.Integer({ description: "Ascends with each takeover" }),
  owner: Type.Optional(ClusterOwnerView),
  members: Type.Array(ClusterMemberView, {
    description: "By name; those that were silent for an hour are left out",
  }),
});
export type ClusterView = Shape<typeof ClusterView>;

export const clusterEndpoints = {
  "GET /cluster": {
    name: "cluster.get",
    summary: "Get the processes of the cluster, its owner, and how far the copies are behind",
    access: "read",
    answer: { status: 200, description: "The cluster", schema: ClusterView },
    errors: ["not_found"],
  },
  "POST /cluster/members/:node/drain": {
    name: "cluster.drain",
    summary:
      "Drain a process: if it is the owner it hands over, and it does not become the owner again until the drain is cancelled. It still passes requests on",
    access: "write",
    answer: {
      status: 200,
      description: "The cluster as it is now; the hand-over takes a moment",
      schema: ClusterView,
    },
    errors: ["not_found", "conflict", "storage_unavailable"],
  },
  "DELETE /cluster/members/:node/drain": {
    name: "cluster.undrain",
    summary: "Cancel a drain: the process may become the owner again",
    access: "write",
    answer: { status: 200, description: "The cluster as it is now", schema: ClusterView },
    errors: ["not_found", "storage_unavailable"],
  },
} as const satisfies EndpointTable;
