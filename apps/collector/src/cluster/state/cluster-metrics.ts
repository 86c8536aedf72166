import type { Counter, Metrics } from "../../process/telemetry/metrics.js";
import type { Member } from "../membership/member.js";
import type { ClusterState } from "./cluster-state.js";

const COUNTERS = {
  sluice_cluster_takeovers_total: {
    help: "Times that this process became the owner",
    label: undefined,
    values: [],
  },
  sluice_cluster_step_downs_total: {
    help: "Times that this process stopped being the owner: in order (hand over), or because another process took over or the engine could not be reached (lost)",
    label: "how",
    values: ["hand over", "lost"],
  },
  sluice_cluster_copy_load_failures_total: {
    help: "Times that this process could not replace its copy, for example because the snapshot is damaged",
    label: undefined,
    values: [],
  },
  sluice_cluster_passed_requests_total: {
    help: "Requests that this process passed on to the owner, by how they ended",
    label: "result",
    values: ["answered", "repeated", "cut", "no_owner", "owner_lost"],
  },
} as const;

type Name = keyof typeof COUNTERS;

/**
 * What a process of a cluster counts. It has metrics of its own, and those of the collector that runs in it while it is the owner:
 * counts appear in both, and begin with those of before.
 */
export class ClusterCounts {
  readonly #counts = new Map<
    string,
    { readonly name: Name; readonly value: string | undefined; count: number }
  >();
  #shown: { readonly metrics: Metrics; readonly counters: ReadonlyMap<Name, Counter> }[] = [];

  add(name: Name, value?: string): void {
    const key = `${name} ${value}`;
    const entry = this.#counts.get(key) ?? { name, value, count: 0 };
    entry.count += 1;
    this.#counts.set(key, entry);
    for (const { counters } of this.#shown) counters.get(name)?.inc(value === undefined ? [] : [value]);
  }

  /** Shows the counts in these metrics too. */
  showIn(metrics: Metrics): void {
    const counters = new Map<Name, Counter>();
    for (const [name, { help, label, values }] of Object.entries(COUNTERS) as [
      Name,
      (typeof COUNTERS)[Name],
    ][]) {
      const counter = metrics.counter(name, help, label === undefined ? [] : [label]);
      for (const value of values) counter.inc([value], 0);
      counters.set(name, counter);
    }
    for (const { name, value, count } of this.#counts.values())
      counters.get(name)?.inc(value === undefined ? [] : [value], count);
    this.#shown.push({ metrics, counters });
  }

  /** The collector has stopped: its metrics are not read any more. */
  hideFrom(metrics: Metrics): void {
    this.#shown = this.#shown.filter((shown) => shown.metrics !== metrics);
  }
}

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
