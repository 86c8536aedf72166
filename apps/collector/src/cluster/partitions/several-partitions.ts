import type { Replica } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { SharedProfiles } from "../../audiences/shared-profiles.js";
import type { DisableTarget } from "../../collector-options.js";
import type { Deletions } from "../../deletions/start-deletions.js";
import { SharedRounds } from "../../delivery/shared-rounds.js";
import type { Notifications } from "../../notifications/start-notifications.js";
import type { Metrics } from "../../process/telemetry/metrics.js";
import { type FindJoinedIds, joinedIds, profileCalls } from "../audiences/profile-calls.js";
import type { AskedAudiences } from "../audiences/profile-routes.js";
import { type ControlSources, controlSources } from "../documents/control-sources.js";
import { FollowedDocuments } from "../documents/followed-documents.js";
import { type PeerCalls, peerCalls } from "../documents/peer-calls.js";
import type { Front } from "../front/front.js";

/** What only clusters of several partitions need. */
export interface SeveralPartitions {
  readonly node: string;
  /** This process's copy of the control partition. */
  readonly control: Replica;
  readonly sources: ControlSources;
  readonly documents: FollowedDocuments;
  readonly peers: PeerCalls;
  /** The metrics of the collectors that run in this process, by partition. */
  readonly metrics: Map<number, Metrics>;
  /** What is wrong in the partitions that this process owns, by partition. */
  readonly reports: Map<number, Notifications["report"]>;
  /** Keeps what the partitions of this process send together to a destination within its concurrency. */
  readonly rounds: SharedRounds;
  /** What the partitions that this process owns have found of deletions, by partition. */
  readonly deletions: Map<number, Deletions["findings"]>;
  /** What other partitions ask of the control partition, while this process owns it: disabling URLs, and the profiles. */
  readonly controlOwner: { disableTarget: DisableTarget | undefined; audiences: AskedAudiences | undefined };
  /** The profiles in the control partition, for another one that this process owns. */
  readonly profilesFor: (partition: number, signal: AbortSignal) => SharedProfiles;
  readonly joinedIds: FindJoinedIds;
}

interface SeveralPartsOptions {
  readonly front: () => Front;
  readonly token: string;
  readonly node: string;
  readonly clock: Clock;
}

/** `control`: the copy of the control partition. */
export function severalPartitions(
  control: Replica,
  { front, token, node, clock }: SeveralPartsOptions,
): SeveralPartitions {
  const sources = controlSources(control, clock);
  return {
    ...{ node, control, sources },
    documents: new FollowedDocuments({ clock, control, sources }),
    peers: peerCalls(front, token, clock),
    metrics: new Map(),
    reports: new Map(),
    rounds: new SharedRounds(),
    deletions: new Map(),
    controlOwner: { disableTarget: undefined, audiences: undefined },
    profilesFor: (partition, signal) => profileCalls({ front, token, clock, control }, partition, signal),
    joinedIds: (...asked) => joinedIds({ front, token, clock, control }, ...asked),
  };
}
