import type { Metrics } from "../../process/telemetry/metrics.js";
import type { Member } from "../membership/member.js";
import type { ClusterState } from "./cluster-state.js";

/** `waiting`: requests that wait for an owner. */
export function showClusterMetrics(state: ClusterState, metrics: Metrics, waiting: () => number): void {
  for (const [name, help, read] of GAUGES) metrics.gauge(name, help, () => read(state));
  metrics.gauge("sluice_cluster_waiting_requests", "Requests that wait for an owner", waiting);
  metrics.gauges(
    "sluice_cluster_members",
    "Processes of the cluster, by what is known of them",
    ["state"],
    () => {
      const count = (is: (member: Member) => boolean): number => state.members.filter(is).length;
      return [
        [["alive"], count(({ isAlive }) => isAlive)],
        [["ready"], count(({ isAlive, isReady }) => isAlive && isReady)],
        [["drained"], count(({ isAlive, isDrained }) => isAlive && isDrained)],
        [["silent"], count(({ isAlive }) => !isAlive)],
      ];
    },
  );
}

const GAUGES: readonly (readonly [
  name: string,
  help: string,
  read: (state: ClusterState) => number | undefined,
])[] = [
  ["sluice_cluster_owner", "1 while this process owns the log", ({ isOwner }) => Number(isOwner)],
  [
    "sluice_cluster_has_owner",
    "1 while this process knows an owner that takes requests",
    ({ hasOwner }) => Number(hasOwner),
  ],
  ["sluice_cluster_term", "The number of takeovers so far", ({ term }) => term],
  [
    "sluice_cluster_behind_entries",
    "Entries of the log that the copy of this process does not contain yet",
    ({ behindEntries }) => behindEntries,
  ],
  [
    "sluice_cluster_behind_seconds",
    "For how long the copy of this process has been behind",
    (state) => {
      state.look();
      return state.behindMs / 1_000;
    },
  ],
  [
    "sluice_cluster_snapshot_age_seconds",
    "Time since the cluster's newest snapshot was made, as this process last saw it; absent while there is none",
    ({ snapshotAgeSeconds }) => snapshotAgeSeconds,
  ],
  [
    "sluice_cluster_snapshot_behind_bytes",
    "Bytes of the log that this process has applied and that the newest snapshot does not contain",
    ({ snapshotBehindBytes }) => snapshotBehindBytes,
  ],
  [
    "sluice_cluster_engine_connected",
    "1 while the cluster's engine can be reached",
    ({ isEngineConnected }) => Number(isEngineConnected),
  ],
  [
    "sluice_cluster_safe",
    "1 while the engine keeps what it acknowledges, as far as is known",
    ({ unsafe }) => Number(unsafe === undefined),
  ],
];
