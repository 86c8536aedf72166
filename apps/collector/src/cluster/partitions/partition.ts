import type { ClusterPartitionView } from "@sluice/control-api";
import type { Replica } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { ClusterEngine } from "../cluster-options.js";
import type { Owner } from "../front/front.js";
import type { Ownership } from "../ownership/ownership.js";

export interface PartitionParts {
  readonly partition: number;
  /** This process, of this start. */
  readonly instance: string;
  readonly clock: Clock;
  readonly engine: ClusterEngine;
  readonly replica: Replica;
  readonly ownership: () => Ownership;
}

/** What this process knows of one partition: its copy, and who owns it. */
export class Partition {
  readonly #parts: PartitionParts;
  #caughtUpMs: number;
  #ownerSeenMs: number;
  #engineKind: "connected" | "disconnected" = "connected";
  #engineSinceMs: number;

  constructor(parts: PartitionParts) {
    this.#parts = parts;
    const now = parts.clock.monotonic();
    this.#caughtUpMs = now;
    this.#ownerSeenMs = now;
    this.#engineSinceMs = now;
  }

  get number(): number {
    return this.#parts.partition;
  }

  get replica(): Replica {
    return this.#parts.replica;
  }

  get engine(): ClusterEngine {
    return this.#parts.engine;
  }

  get ownership(): Ownership {
    return this.#parts.ownership();
  }

  /** Notes the times of changes. Call it after each change, and from time to time. */
  look(): void {
    const { clock, replica, engine } = this.#parts;
    const now = clock.monotonic();
    const { applied, last } = replica.status();
    if (applied >= last) this.#caughtUpMs = now;
    if (this.hasOwner) this.#ownerSeenMs = now;
    const { kind } = engine.health();
    if (kind !== this.#engineKind) this.#engineSinceMs = now;
    this.#engineKind = kind;
  }

  /** Who takes requests, as far as this process knows. */
  owner(): Owner {
    const { instance } = this.#parts;
    const { state, lease } = this.ownership;
    if (state.kind === "starting" || state.kind === "leading") return { kind: "starting" };
    const holder = lease?.holder;
    if (lease === undefined || holder?.phase !== "leading" || holder.instance === instance)
      return { kind: "none" };
    return { kind: "other", address: holder.address, term: lease.term };
  }

  get hasOwner(): boolean {
    return this.isOwner || this.owner().kind === "other";
  }

  get isOwner(): boolean {
    return this.ownership.state.kind === "leading";
  }

  get ownerlessMs(): number {
    return this.#parts.clock.monotonic() - this.#ownerSeenMs;
  }

  get engineMs(): number {
    return this.#parts.clock.monotonic() - this.#engineSinceMs;
  }

  get behindEntries(): number {
    const { applied, last } = this.#parts.replica.status();
    return Math.max(0, last - applied);
  }

  get behindMs(): number {
    return this.behindEntries === 0 ? 0 : this.#parts.clock.monotonic() - this.#caughtUpMs;
  }

  /** Undefined while there is no snapshot. */
  get snapshotAgeSeconds(): number | undefined {
    const { clock, replica } = this.#parts;
    const { madeAtMs } = replica.status().snapshot;
    return madeAtMs === undefined ? undefined : Math.max(0, clock.now() - madeAtMs) / 1_000;
  }

  /** The copy of this process can become the owner's. */
  get isReady(): boolean {
    const { role, problem } = this.#parts.replica.status();
    return (role === "following" || role === "leading") && problem === undefined;
  }

  view(): ClusterPartitionView {
    const { lease } = this.ownership;
    return {
      partition: this.number,
      term: lease?.term ?? 0,
      ...(lease?.holder === undefined
        ? {}
        : {
            owner: lease.holder.node,
            phase: lease.holder.phase,
            since: formatTime(lease.holder.sinceMs),
          }),
    };
  }
}
