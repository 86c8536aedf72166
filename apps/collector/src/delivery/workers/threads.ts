import { join } from "node:path";
import type { Store } from "@sluice/event-log";
import { startThread, type ThreadRoom } from "@sluice/resilience/node";
import type { CollectorOptions } from "../../collector-options.js";
import { DELIVERY_DEFAULTS } from "../delivery-stage.js";
import type { DeliveryWorker } from "./delivery-thread.js";
import type { SpreadParts } from "./spread-delivery.js";
import type { DeliveryThreadData } from "./thread-api.js";

/** Messages that are read ahead take the most of it. */
const ROOM: ThreadRoom = { youngMb: 16, oldMb: 512 };

/** How many threads work besides the main one: none if what they would need exists in this thread only. */
export function furtherThreads(options: CollectorOptions): number {
  const { workers = 1, tracing, startWorker } = options;
  const { clock, resolve, openEndpoint, openSandboxes } = options;
  const isOnlyHere =
    startWorker === undefined &&
    [clock, resolve, openEndpoint, openSandboxes].some((one) => one !== undefined);
  // Whether a trace begins at the collector may be for the exporter to say.
  const asksExporter =
    tracing !== undefined &&
    tracing.exportsSpans !== false &&
    tracing.startsTraces !== false &&
    tracing.share === undefined;
  return isOnlyHere || asksExporter ? 0 : workers - 1;
}

/** The share of messages without a trace that get one. Undefined: no spans are recorded. */
export function tracesShareOf(tracing: CollectorOptions["tracing"]): number | undefined {
  return tracing === undefined || tracing.exportsSpans === false ? undefined : (tracing.share ?? 0);
}

/** The threads that deliver besides the main one. Undefined if there are none. */
export function deliveryThreads(
  options: CollectorOptions,
  key: Uint8Array,
  store: Store,
): Pick<SpreadParts, "count" | "startThread"> | undefined {
  const { tracing, destinations = [], startWorker = startWorkerOfNode } = options;
  const count = furtherThreads(options);
  if (count === 0 || store.share === undefined) return undefined;
  const data: DeliveryThreadData = {
    exportsFolder: join(options.dataDirectory, "exports"),
    key,
    allowTargets: options.allowTargets ?? [],
    packages: destinations.filter((one) => typeof one === "string"),
    folder: process.cwd(),
    policy: { ...DELIVERY_DEFAULTS, ...options.deliveryPolicy },
    tracesShare: tracesShareOf(tracing),
  };
  return { count, startThread: () => startWorker(data) };
}

function startWorkerOfNode(data: DeliveryThreadData): DeliveryWorker {
  const isSource = import.meta.url.endsWith(".ts");
  const entry = new URL(isSource ? "../../workers/worker.ts" : "./worker.js", import.meta.url);
  return startThread(entry, { name: "sluice-worker", room: ROOM, workerData: data });
}
