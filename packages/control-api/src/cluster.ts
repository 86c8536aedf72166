import { Type } from "@sinclair/typebox";
import type { EndpointTable } from "./endpoint.js";
import { closed, oneOf, type Shape } from "./shape.js";

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
  owns: Type.Array(Type.Integer(), { description: "The partitions that it owns" }),
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

export const ClusterPartitionView = Type.Object({
  partition: Type.Integer(),
  owner: Type.Optional(Type.String({ description: "The name of its owner. Absent: there is none just now" })),
  phase: Type.Optional(oneOf(["starting", "leading", "ending"])),
  term: Type.Integer({ description: "Ascends with each takeover" }),
  since: Type.Optional(Type.String({ description: "When its owner took it over" })),
  movedTo: Type.Optional(
    Type.String({ description: "The process that is to own it whenever it can. Absent: any" }),
  ),
});
export type ClusterPartitionView = Shape<typeof ClusterPartitionView>;

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
  partitions: Type.Array(ClusterPartitionView),
  members: Type.Array(ClusterMemberView, {
    description: "By name; those that were silent for an hour are left out",
  }),
});
export type ClusterView = Shape<typeof ClusterView>;

export const clusterEndpoints = {
  "GET /cluster": {
    name: "cluster.get",
    summary:
      "Get the processes of the cluster, the owner of the partition, and how far the copies are behind",
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
  "PUT /cluster/partitions/:partition/owner": {
    name: "cluster.move",
    summary:
      "Move a partition: the process owns it from now on, whenever it can. Without this, the processes share the partitions evenly",
    access: "write",
    body: closed({ node: Type.String({ description: "The name of the process" }) }),
    answer: {
      status: 200,
      description: "The cluster as it is now; the hand-over takes a moment",
      schema: ClusterView,
    },
    errors: ["not_found", "conflict", "storage_unavailable"],
  },
  "DELETE /cluster/partitions/:partition/owner": {
    name: "cluster.unmove",
    summary: "Let the processes share the partition again, after it was moved",
    access: "write",
    answer: { status: 200, description: "The cluster as it is now", schema: ClusterView },
    errors: ["not_found", "conflict", "storage_unavailable"],
  },
} as const satisfies EndpointTable;
