import type { ClusterOwnerView, ClusterView } from "@sluice/control-api";
import type { Replica } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { Health } from "../../http/health-routes.js";
import type { ClusterEngine } from "../cluster-options.js";
import type { Owner } from "../front/front.js";
import type { Member, MemberFacts } from "../membership/member.js";
import type { Membership } from "../membership/membership.js";
import type { LeaseHolder } from "../ownership/lease.js";
import type { Ownership } from "../ownership/ownership.js";
import { clusterHealth, ENGINE_AWAY, ENGINE_SILENT, memberView, ROLES } from "./cluster-health.js";

export interface ClusterStateParts {
  readonly name: string;
  readonly node: string;
  /** This process, of this start. */
  readonly instance: string;
  readonly version: string;
  readonly address: string;
  readonly clock: Clock;
  readonly engine: ClusterEngine;
  readonly replica: Replica;
  readonly ownership: () => Ownership;
  readonly membership: () => Membership;
}

/** What this process knows of itself, of its copy, and of the cluster. */
export class ClusterState {
  readonly #parts: ClusterStateParts;
  readonly #startedAtMs: number;
  #caughtUpMs: number;
  #ownerSeenMs: number;
  #engineKind: "connected" | "disconnected" = "connected";
  #engineSinceMs: number;
  /** Why it is not safe to acknowledge. */
  unsafe: string | undefined;

  constructor(parts: ClusterStateParts) {
    this.#parts = parts;
    this.#startedAtMs = parts.clock.now();
    const now = parts.clock.monotonic();
    this.#caughtUpMs = now;
    this.#ownerSeenMs = now;
    this.#engineSinceMs = now;
  }

  get #ownership(): Ownership {
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

  /** The process that takes requests, as far as this one knows. */
  owner(): Owner {
    const { state, lease } = this.#ownership;
    if (state.kind === "starting" || state.kind === "leading") return { kind: "starting" };
    const holder = lease?.holder;
    if (lease === undefined || holder?.phase !== "leading" || holder.instance === this.#parts.instance)
      return { kind: "none" };
    return { kind: "other", address: holder.address, term: lease.term };
  }

  get hasOwner(): boolean {
    return this.isOwner || this.owner().kind === "other";
  }

  get isOwner(): boolean {
    return this.#ownership.state.kind === "leading";
  }

  get term(): number {
    return this.#ownership.lease?.term ?? 0;
  }

  get isEngineConnected(): boolean {
    return this.#parts.engine.health().kind === "connected";
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

  get snapshotBehindBytes(): number {
    return this.#parts.replica.status().snapshot.bytesSince;
  }

  /** The copy of this process can become the owner's, and it is not about to end. */
  get isReady(): boolean {
    const { role, problem } = this.#parts.replica.status();
    const isWhole = (role === "following" || role === "leading") && problem === undefined;
    return isWhole && !this.#ownership.isLeaving;
  }

  get members(): readonly Member[] {
    return this.#parts.membership().members();
  }

  /** Another process is there that could own the log. */
  hasSuccessor(): boolean {
    return this.members.some(
      (member) => member.node !== this.#parts.node && member.isAlive && member.isReady && !member.isDrained,
    );
  }

  facts(): MemberFacts {
    const { node, instance, address, version, replica } = this.#parts;
    const { applied, problem } = replica.status();
    return {
      node,
      instance,
      address,
      version,
      startedAtMs: this.#startedAtMs,
      role: this.#ownership.state.kind,
      isReady: this.isReady,
      applied,
      behindEntries: this.behindEntries,
      behindMs: this.behindMs,
      ...(problem === undefined ? {} : { problem }),
    };
  }

  /** The reason why the engine does not work, if this process knows one. */
  get engineTrouble(): string | undefined {
    if (!this.isEngineConnected) return ENGINE_AWAY;
    const { trouble } = this.#parts.membership();
    return trouble === undefined ? undefined : ENGINE_SILENT;
  }

  health(): Health {
    this.look();
    const { membership, clock, engine } = this.#parts;
    const { trouble } = membership();
    const now = clock.monotonic();
    return clusterHealth({
      hasOwner: this.hasOwner,
      ownerlessMs: now - this.#ownerSeenMs,
      engine: engine.health(),
      engineMs: now - this.#engineSinceMs,
      unanswered: trouble === undefined ? undefined : { ms: now - trouble.sinceMs },
      unsafe: this.unsafe,
    });
  }

  /** For `/readyz`. */
  details(): object {
    return {
      node: this.#parts.node,
      role: ROLES[this.#ownership.state.kind],
      owner: this.#ownership.lease?.holder?.node,
      behindEntries: this.behindEntries,
      behindMs: this.behindMs,
    };
  }

  view(): ClusterView {
    const { name, node, engine } = this.#parts;
    const health = engine.health();
    const { holder } = this.#ownership.lease ?? {};
    return {
      name,
      answeredBy: node,
      engine:
        health.kind === "connected"
          ? { kind: "connected" }
          : { kind: "disconnected", reason: health.reason, since: formatTime(health.sinceMs) },
      ...(this.unsafe === undefined ? {} : { unsafe: this.unsafe }),
      term: this.term,
      ...(holder === undefined ? {} : { owner: ownerView(holder) }),
      // Its own record may be a heartbeat old.
      members: this.members.map((member) =>
        memberView(
          member.node === node ? { ...member, ...this.facts(), silentMs: 0, missedBeats: 0 } : member,
          holder,
        ),
      ),
    };
  }
}

function ownerView({ node, phase, sinceMs }: LeaseHolder): ClusterOwnerView {
  return { node, phase, since: formatTime(sinceMs) };
}
