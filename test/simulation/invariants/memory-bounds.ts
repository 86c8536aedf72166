import type { Peak } from "../actors/history.js";
import type { Cast } from "../scenario/cast.js";
import type { Invariant } from "./invariant.js";

/** Timers of an idle collector, with room for the stages that are added to it. */
const COLLECTOR_TIMERS = 40;
/** Timers of a destination besides those of its requests: the next retry, the next settlement, the probe, and errors of the store. */
const DESTINATION_TIMERS = 10;
/** Of a process of a cluster besides: its lease, its heartbeats, and requests that wait for an owner. */
const CLUSTER_TIMERS = 20;
/** A request has a timeout. With several URLs, requests may go on after their message has ended, four for each. */
const TIMERS_PER_MESSAGE = 5;
/** Timers of an SDK besides those of its requests: the next batch, `flush()` and `close()`. */
const SDK_TIMERS = 4;
/** A request of an SDK waits for its answer, or for its next attempt. */
const TIMERS_PER_REQUEST = 2;

/** What processes hold in memory. */
export const memoryBounds: Invariant = {
  name: "memory-bounds",
  promise:
    "At no moment does an SDK hold more messages than `maxQueueSize`, nor any process more timers than what is under way needs.",
  check({ cast }) {
    return cast.history.peaks.flatMap((peak) => {
      const bound = boundOf(peak, cast);
      return peak.most > bound
        ? [`${peak.process} held ${peak.most} ${peak.what}; at most ${bound} may be`]
        : [];
    });
  },
};

function boundOf(
  { process, what, allowed = 0 }: Peak,
  { sdks, destinations, warehouse, cluster }: Cast,
): number {
  const sdk = sdks.find(({ plan }) => plan.name === process)?.plan;
  if (sdk !== undefined)
    return what === "timers" ? SDK_TIMERS + TIMERS_PER_REQUEST * sdk.maxInFlight + allowed : sdk.maxQueueSize;
  return destinations.reduce(
    (sum, { plan }) => sum + DESTINATION_TIMERS + TIMERS_PER_MESSAGE * plan.concurrency * plan.urls,
    COLLECTOR_TIMERS +
      (cluster === undefined ? 0 : CLUSTER_TIMERS) +
      (warehouse === undefined ? 0 : DESTINATION_TIMERS),
  );
}
