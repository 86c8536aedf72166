import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CrashMarkers } from "@sluice/audiences";
import {
  type LeadingStores,
  type Replica,
  type RetentionOptions,
  StorageUnavailable,
} from "@sluice/event-log";
import { systemClock } from "@sluice/resilience";
import type { ClusterControl } from "../admin/collector/cluster-control.js";
import type { Collector } from "../collector.js";
import type { ClusterPart, CollectorOptions } from "../collector-options.js";
import type { Logger } from "../process/telemetry/logger.js";
import type { Front } from "./front/front.js";
import type { Leadership } from "./ownership/ownership.js";
import { type ClusterCounts, showClusterMetrics } from "./state/cluster-metrics.js";
import type { ClusterState } from "./state/cluster-state.js";

/** In the data folder of a process of a cluster: the messages that it is about to count. */
export const CRASH_MARKER = "counting.json";

/**
 * Keeps the marker in a file of this process. It has to survive a crash of the process, but not of the machine, which no message causes:
 * so it is not synced.
 */
export function crashMarkerFile(file: string): CrashMarkers {
  return {
    load() {
      try {
        return JSON.parse(readFileSync(file, "utf8"));
      } catch {
        // There is none, or the process ended while it was written, and not while it counted.
        return undefined;
      }
    },
    save(marker) {
      try {
        if (marker === undefined) rmSync(file, { force: true });
        else writeFileSync(file, JSON.stringify(marker), { mode: 0o600 });
      } catch (error) {
        throw new StorageUnavailable(`${file} cannot be written: ${(error as Error).message}`, error);
      }
    },
  };
}

export interface LeadParts {
  readonly options: CollectorOptions & {
    readonly startCollector: (options: CollectorOptions) => Promise<Collector>;
  };
  readonly logger: Logger;
  readonly counts: ClusterCounts;
  readonly replica: Replica;
  readonly front: Front;
  readonly state: ClusterState;
  readonly retention: RetentionOptions;
  readonly control: ClusterControl;
}

/** One time of leading: its term, and what ends it. */
interface Lead {
  readonly term: number;
  readonly lost: (reason: string) => void;
  readonly signal: AbortSignal;
}

/** How long requests and deliveries under way may take when the process hands over. The next owner repeats the unfinished ones. */
const HAND_OVER_GRACE_MS = 500;

/** Takes over the log, and runs a collector on the replicated stores. */
export async function leadLog(parts: LeadParts, { term, lost, signal }: Lead): Promise<Leadership> {
  const { options, counts, logger, replica } = parts;
  const { clock = systemClock } = options;
  const beganMs = clock.monotonic();
  const stores = await replica.lead(term, { onDeposed: lost, signal });
  const ending: (() => void)[] = [];
  const endAll = (): void => {
    for (const end of ending.splice(0).reverse()) end();
  };
  try {
    const collector = await options.startCollector(ownerOptions(parts, stores, ending));
    counts.add("sluice_cluster_takeovers_total");
    logger.info("owns the log", { term, tookMs: clock.monotonic() - beganMs });
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

function ownerOptions(parts: LeadParts, stores: LeadingStores, ending: (() => void)[]): CollectorOptions {
  const { options, front, retention } = parts;
  return {
    ...options,
    store: stores.store,
    profiles: stores.profiles,
    storeRetention: retention,
    startServer: (server) => front.startServer(server),
    cluster: clusterPart(parts, ending),
  };
}

function clusterPart(parts: LeadParts, ending: (() => void)[]): ClusterPart {
  const { options, counts, front, state, control } = parts;
  return {
    ...{ health: () => state.health(), details: () => state.details(), control },
    crashMarkers: crashMarkerFile(join(options.dataDirectory, CRASH_MARKER)),
    showMetrics(metrics) {
      ending.push(() => counts.hideFrom(metrics));
      counts.showIn(metrics);
      showClusterMetrics(state, metrics, () => front.waiting);
    },
  };
}
