import { join } from "node:path";
import { type LeadingStores, type RetentionOptions, StorageUnavailable } from "@sluice/event-log";
import { type Clock, systemClock } from "@sluice/resilience";
import type { ClusterControl } from "../../admin/collector/cluster-endpoints.js";
import type { Collector } from "../../collector.js";
import type { ClusterPart, CollectorOptions, PartitionPart } from "../../collector-options.js";
import type { WatchedPlace } from "../../notifications/start-notifications.js";
import type { Logger } from "../../process/telemetry/logger.js";
import { CRASH_MARKER, crashMarkerFile } from "../audiences/crash-marker-file.js";
import { followedPartition } from "../audiences/followed-partition.js";
import type { ClusterCounts } from "../cluster-counts.js";
import type { ClusterState } from "../cluster-state.js";
import { announceChanges } from "../documents/announce-changes.js";
import type { Front } from "../front/front.js";
import type { Membership } from "../membership/membership.js";
import type { Leadership } from "../ownership/ownership.js";
import type { Partition } from "./partition.js";
import type { SeveralPartitions } from "./several-partitions.js";

export interface LeadParts {
  readonly options: CollectorOptions & {
    readonly startCollector: (options: CollectorOptions) => Promise<Collector>;
  };
  readonly logger: Logger;
  readonly counts: ClusterCounts;
  readonly front: Front;
  readonly state: ClusterState;
  readonly membership: Membership;
  readonly retention: RetentionOptions;
  readonly control: ClusterControl;
  /** Undefined in a cluster of one partition. */
  readonly several: SeveralPartitions | undefined;
}

/** One time of leading: the partition, its term, and what ends it. */
export interface Lead {
  readonly partition: Partition;
  readonly term: number;
  readonly lost: (reason: string) => void;
  readonly signal: AbortSignal;
}

/** How long requests and deliveries under way may take when the process hands over. What is not finished is repeated by the next owner. */
const HAND_OVER_GRACE_MS = 500;

/** Takes over the log, and runs a collector on the replicated stores. */
export async function leadPartition(parts: LeadParts, lead: Lead): Promise<Leadership> {
  const { options, counts, logger, several } = parts;
  const { partition, term, lost, signal } = lead;
  const { clock = systemClock } = options;
  const about = several === undefined ? {} : { partition: partition.number };
  const beganMs = clock.monotonic();
  const stores = await partition.replica.lead(term, { onDeposed: lost, signal });
  const ending: (() => void)[] = [];
  const endAll = (): void => {
    for (const end of ending.splice(0).reverse()) end();
  };
  try {
    if (several !== undefined && partition.number > 0)
      ending.push(await several.documents.follow(partition.number, stores.store, signal));
    const collector = await options.startCollector(ownerOptions(parts, lead, stores, ending));
    if (several !== undefined && partition.number === 0)
      ending.push(...leadControl(parts, several, stores, clock));
    counts.add("sluice_cluster_takeovers_total");
    logger.info("owns the partition", { term, tookMs: clock.monotonic() - beganMs, ...about });
    return {
      async end(how) {
        endAll();
        try {
          await collector.close(how === "hand over" ? HAND_OVER_GRACE_MS : 0);
        } catch (error) {
          // A store that was lost takes no last writes.
          if (how === "hand over") throw error;
        } finally {
          await stores.stepDown();
        }
      },
    };
  } catch (error) {
    endAll();
    await stores.stepDown();
    throw error;
  }
}

/** Tells the other partitions of changes. */
function leadControl(
  { membership, logger }: LeadParts,
  { node, documents, peers, controlOwner }: SeveralPartitions,
  { store }: LeadingStores,
  clock: Clock,
): (() => void)[] {
  const stop = announceChanges({
    ...{ config: store.config, clock, logger },
    processes: () => membership.members().filter(({ isAlive }) => isAlive),
    tell: (address, kinds, signal) =>
      membership.members().some((member) => member.node === node && member.address === address)
        ? documents.changed(kinds)
        : peers.documentsChanged(address, kinds, signal),
  });
  return [
    stop,
    () => {
      controlOwner.disableTarget = undefined;
    },
  ];
}

function ownerOptions(
  parts: LeadParts,
  { partition: { number } }: Lead,
  stores: LeadingStores,
  ending: (() => void)[],
): CollectorOptions {
  const { options, front, retention } = parts;
  return {
    ...options,
    store: stores.store,
    profiles: stores.profiles,
    storeRetention: retention,
    startServer: (server) => front.startServer(server, number),
    cluster: clusterPart(parts, number, ending),
  };
}

function watchedPlace(number: number, { node, peers }: SeveralPartitions, count: number): WatchedPlace {
  if (number > 0) return { kind: "other" };
  const partitions = Array.from({ length: count - 1 }, (_, index) => index + 1);
  return { kind: "control", others: { node, partitions, report: (other) => peers.report(other) } };
}

function clusterPart(parts: LeadParts, number: number, ending: (() => void)[]): ClusterPart {
  const { options, counts, front, state, control, several } = parts;
  const common = {
    ...{ health: () => state.health(), details: () => state.details(), control },
    crashMarkers: crashMarkerFile(join(options.dataDirectory, CRASH_MARKER)),
  };
  if (several === undefined)
    return {
      ...common,
      showMetrics(metrics) {
        ending.push(() => counts.hideFrom(metrics));
        counts.showIn(metrics);
        state.showMetrics(metrics, () => front.waiting);
      },
    };
  return {
    ...common,
    showMetrics(metrics) {
      several.metrics.set(number, metrics);
      ending.push(() => {
        if (several.metrics.get(number) === metrics) several.metrics.delete(number);
      });
    },
    partition: {
      ...audiencesPart(parts, several, number, ending),
      number,
      count: state.partitions.length,
      rounds: several.rounds,
      disableTarget: number === 0 ? undefined : (id, url) => several.peers.disableTarget(id, url),
      onStarted(disableTarget) {
        if (number === 0) several.controlOwner.disableTarget = disableTarget;
      },
      findings: (partition, id, abort) => several.peers.findings(partition, id, abort),
      onDeletions(findings) {
        several.deletions.set(number, findings);
        ending.push(() => {
          if (several.deletions.get(number) === findings) several.deletions.delete(number);
        });
      },
      watches: watchedPlace(number, several, state.partitions.length),
      onWatched(report) {
        several.reports.set(number, report);
        ending.push(() => {
          if (several.reports.get(number) === report) several.reports.delete(number);
        });
      },
    },
  };
}

/** Partition 0 counts the messages of all, and keeps the profiles. */
function audiencesPart(
  { state }: LeadParts,
  { controlOwner, profilesFor }: SeveralPartitions,
  number: number,
  ending: (() => void)[],
): Pick<PartitionPart, "followed" | "profiles" | "ending" | "onAudiences"> {
  const ended = new AbortController();
  ending.push(() => ended.abort(new StorageUnavailable("the partition is handed over")));
  if (number > 0)
    return {
      ...{ followed: [], profiles: profilesFor(number, ended.signal), ending: ended.signal },
      onAudiences() {},
    };
  const others = state.partitions.filter((one) => one.number > 0);
  return {
    followed: others.map((one) => followedPartition(one.number, one.replica)),
    ...{ profiles: undefined, ending: ended.signal },
    onAudiences(audiences) {
      controlOwner.audiences = audiences;
      ending.push(() => {
        controlOwner.audiences = undefined;
      });
    },
  };
}
