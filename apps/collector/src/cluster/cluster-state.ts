import type { ClusterView } from "@sluice/control-api";
import { formatTime } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { Health } from "../http/health-routes.js";
import type { Metrics } from "../process/telemetry/metrics.js";
import { clusterHealth, ENGINE_AWAY, ENGINE_SILENT } from "./cluster-health.js";
import type { Owner } from "./front/front.js";
import { BUSIEST, memberView, ROLES } from "./member-view.js";
import type { Member, MemberFacts } from "./membership/member.js";
import type { Membership } from "./membership/membership.js";
import type { OwnershipState } from "./ownership/ownership.js";
import type { Partition } from "./partitions/partition.js";

export interface ClusterStateParts {
  readonly name: string;
  readonly node: string;
  readonly instance: string;
  readonly version: string;
  readonly address: string;
  readonly clock: Clock;
  /** At least one. The first is the control partition. */
  readonly partitions: readonly Partition[];
  readonly membership: () => Membership;
}

/** What this process knows of itself and of the cluster. */
export class ClusterState {
  readonly #parts: ClusterStateParts;
  readonly #startedAtMs: number;
  /** Why it is not safe to acknowledge. */
  unsafe: string | undefined;

  constructor(parts: ClusterStateParts) {
    this.#parts = parts;
    this.#startedAtMs = parts.clock.now();
  }

  get partitions(): readonly Partition[] {
    return this.#parts.partitions;
  }

  get #control(): Partition {
    return this.#parts.partitions[0] as Partition;
  }

  /** Notes the times of changes. Call it after each change, and from time to time. */
  look(): void {
    for (const partition of this.#parts.partitions) partition.look();
  }

  /** Who takes requests for a partition, as far as this process knows. Default: the control partition. */
  owner(partition = 0): Owner {
    return this.#parts.partitions[partition]?.owner() ?? { kind: "none" };
  }

  /** Every partition has an owner that takes requests. */
  get hasOwner(): boolean {
    return this.#parts.partitions.every(({ hasOwner }) => hasOwner);
  }

  /** This process owns a partition. */
  get isOwner(): boolean {
    return this.#parts.partitions.some(({ isOwner }) => isOwner);
  }

  get behindEntries(): number {
    return this.#parts.partitions.reduce((sum, { behindEntries }) => sum + behindEntries, 0);
  }

  get behindMs(): number {
    return Math.max(...this.#parts.partitions.map(({ behindMs }) => behindMs));
  }

  /** The copies of this process can become the owners', and it is not about to end. */
  get isReady(): boolean {
    return this.#parts.partitions.every(({ isReady, ownership }) => isReady && !ownership.isLeaving);
  }

  get #role(): OwnershipState["kind"] {
    const kinds = this.#parts.partitions.map(({ ownership }) => ownership.state.kind);
    return BUSIEST.find((kind) => kinds.includes(kind)) ?? "following";
  }

  /** Another process is there that could own the partitions. */
  hasSuccessor(): boolean {
    const { node, membership } = this.#parts;
    return membership()
      .members()
      .some((member) => member.node !== node && member.isAlive && member.isReady && !member.isDrained);
  }

  facts(): MemberFacts {
    const { node, instance, address, version, partitions } = this.#parts;
    const { applied } = this.#control.replica.status();
    const problem = partitions
      .map(({ replica }) => replica.status().problem)
      .find((found) => found !== undefined);
    return {
      node,
      instance,
      address,
      version,
      startedAtMs: this.#startedAtMs,
      role: this.#role,
      isReady: this.isReady,
      applied,
      behindEntries: this.behindEntries,
      behindMs: this.behindMs,
      ...(problem === undefined ? {} : { problem }),
    };
  }

  /** What keeps the engine from working, as far as this process knows. Undefined: nothing. */
  get engineTrouble(): string | undefined {
    const engine = this.#control.engine.health();
    if (engine.kind === "disconnected") return ENGINE_AWAY;
    const { trouble } = this.#parts.membership();
    return trouble === undefined ? undefined : ENGINE_SILENT;
  }

  health(): Health {
    this.look();
    const { partitions, membership, clock } = this.#parts;
    const { trouble } = membership();
    const unanswered = trouble === undefined ? undefined : { ms: clock.monotonic() - trouble.sinceMs };
    for (const partition of partitions) {
      const health = clusterHealth({
        hasOwner: partition.hasOwner,
        ownerlessMs: partition.ownerlessMs,
        engine: partition.engine.health(),
        engineMs: partition.engineMs,
        unanswered,
        unsafe: this.unsafe,
        partition: partitions.length === 1 ? undefined : partition.number,
      });
      if (health.kind === "unavailable") return health;
    }
    return { kind: "ready" };
  }

  /** For `/readyz`. */
  details(): object {
    const { node, partitions } = this.#parts;
    const owned = partitions.filter(({ isOwner }) => isOwner).map(({ number }) => number);
    return {
      node,
      role: ROLES[this.#role],
      owner: this.#control.ownership.lease?.holder?.node,
      behindEntries: this.behindEntries,
      behindMs: this.behindMs,
      ...(partitions.length === 1 ? {} : { owns: owned }),
    };
  }

  view(): ClusterView {
    const { name, node, partitions, membership } = this.#parts;
    const health = this.#control.engine.health();
    const views = partitions.map((partition) => {
      const movedTo = membership().wantedOwner(partition.number);
      return { ...partition.view(), ...(movedTo === undefined ? {} : { movedTo }) };
    });
    const leases = partitions.flatMap(({ number, ownership: { lease } }) =>
      lease?.holder === undefined ? [] : [{ partition: number, holder: lease.holder }],
    );
    return {
      name,
      answeredBy: node,
      engine:
        health.kind === "connected"
          ? { kind: "connected" }
          : { kind: "disconnected", reason: health.reason, since: formatTime(health.sinceMs) },
      ...(this.unsafe === undefined ? {} : { unsafe: this.unsafe }),
      partitions: views,
      // Its own record may be a heartbeat old.
      members: membership()
        .members()
        .map((member) =>
          memberView(
            member.node === node ? { ...member, ...this.facts(), silentMs: 0, missedBeats: 0 } : member,
            leases,
          ),
        ),
    };
  }

  showMetrics(metrics: Metrics, waiting: () => number): void {
    const { membership } = this.#parts;
    const { gauge } = metrics;
    const flag = (is: boolean): number => (is ? 1 : 0);
    this.#showPartitions(metrics);
    gauge("sluice_cluster_engine_connected", "1 while the cluster's engine can be reached", () =>
      flag(this.#parts.partitions.every(({ engine }) => engine.health().kind === "connected")),
    );
    gauge("sluice_cluster_safe", "1 while the engine keeps what it acknowledges, as far as is known", () =>
      flag(this.unsafe === undefined),
    );
    gauge("sluice_cluster_waiting_requests", "Requests that wait for an owner", waiting);
    metrics.gauges(
      "sluice_cluster_members",
      "Processes of the cluster, by what is known of them",
      ["state"],
      () => {
        const members = membership().members();
        const count = (is: (member: Member) => boolean): number => members.filter(is).length;
        return [
          [["alive"], count(({ isAlive }) => isAlive)],
          [["ready"], count(({ isAlive, isReady }) => isAlive && isReady)],
          [["drained"], count(({ isAlive, isDrained }) => isAlive && isDrained)],
          [["silent"], count(({ isAlive }) => !isAlive)],
        ];
      },
    );
  }

  /** With several partitions, each has a sample with its number. */
  #showPartitions(metrics: Metrics): void {
    const { partitions } = this.#parts;
    for (const [name, help, read] of OF_PARTITIONS) {
      if (partitions.length === 1) metrics.gauge(name, help, () => read(this.#control));
      else
        metrics.gauges(name, help, ["partition"], () =>
          partitions.flatMap((partition) => {
            const value = read(partition);
            return value === undefined ? [] : [[[String(partition.number)], value] as const];
          }),
        );
    }
  }
}

type PartitionGauge = readonly [
  name: string,
  help: string,
  read: (partition: Partition) => number | undefined,
];

const OF_PARTITIONS: readonly PartitionGauge[] = [
  ["sluice_cluster_owner", "1 while this process owns the partition", ({ isOwner }) => Number(isOwner)],
  [
    "sluice_cluster_has_owner",
    "1 while this process knows an owner that takes requests",
    ({ hasOwner }) => Number(hasOwner),
  ],
  ["sluice_cluster_term", "The number of takeovers so far", ({ ownership }) => ownership.lease?.term],
  [
    "sluice_cluster_behind_entries",
    "Entries of the log that the copy of this process does not contain yet",
    ({ behindEntries }) => behindEntries,
  ],
  [
    "sluice_cluster_behind_seconds",
    "For how long the copy of this process has been behind",
    (partition) => {
      partition.look();
      return partition.behindMs / 1_000;
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
    ({ replica }) => replica.status().snapshot.bytesSince,
  ],
];
