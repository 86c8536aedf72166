import { idDigest, idDigestKey, type JoinedStore, joinStore } from "@sluice/event-log";
import { systemClock } from "@sluice/resilience";
import { type CallPort, serve } from "@sluice/resilience/node";
import type { CollectorOptions } from "../../collector-options.js";
import { BUILT_IN_TYPES, type Catalog, type CatalogDeps, createCatalog } from "../../destinations/catalog.js";
import { loadPackages } from "../../destinations/defined/load-packages.js";
import { secretBox } from "../../destinations/secret-box.js";
import { FollowedSuppressions, type Purge } from "../../documents/followed-suppressions.js";
import { defined } from "../../process/defined.js";
import type { LogFields, Logger, LogLevel } from "../../process/telemetry/logger.js";
import { tracingOfThread } from "../../process/telemetry/tracing.js";
import { egressPolicy } from "../../sender/egress-policy.js";
import { openTransformations, type Transformations } from "../../transformations/transformations.js";
import { type RunningDelivery, runDelivery } from "../run-delivery.js";
import { deliveryEvents } from "../settling/delivery-events.js";
import { batchedTally } from "./batched-tally.js";
import type { DeliveryNotice, DeliveryStart, DeliveryThreadApi, DeliveryThreadData } from "./thread-api.js";

type Notify = (notice: DeliveryNotice) => void;

/** What else this thread does begins with it. */
export interface CompanionParts {
  readonly store: JoinedStore;
  readonly suppressions: FollowedSuppressions;
  readonly logger: Logger;
}

/** What a thread may be given besides, as the main thread. */
export type GivenToThread = Pick<CollectorOptions, "clock" | "resolve" | "openEndpoint" | "openSandboxes">;

/**
 * Runs a delivery in this thread for the main thread at the other end of `parent`. `join`: starts what else the thread does, if there is
 * something.
 */
export function serveDelivery(
  parent: CallPort & { close(): void },
  data: DeliveryThreadData,
  join: (companion: unknown, parts: CompanionParts) => Promise<void>,
  given: GivenToThread = {},
): void {
  const { clock = systemClock, openSandboxes } = given;
  const notify: Notify = (notice) => server.notify(notice);
  const begun = Promise.withResolvers<void>();
  const live = {
    watched: false,
    publish: (...[event, stored]: Parameters<LivePublish>) => notify({ kind: "live", event, stored }),
  };
  let running: Running | undefined;
  let suppressions: FollowedSuppressions | undefined;
  /** What was purged while this thread starts. */
  const purged: Purge[] = [];
  const delivery = (): RunningDelivery => {
    if (running === undefined) throw new Error("the delivery has not started");
    return running.delivery;
  };
  const api: DeliveryThreadApi = {
    async start({ port, assigned, purges, isWatched, mayBegin, companion }: DeliveryStart) {
      live.watched = isWatched;
      if (mayBegin) begun.resolve();
      const store = await joinStore(port, clock);
      const digest = idDigest(idDigestKey(data.key));
      suppressions = await new FollowedSuppressions({ store, digest }, purges).follow();
      suppressions.takePurges(purged);
      const logger = loggerTo(notify);
      const sealed = { config: store.config, secrets: secretBox(data.key) };
      const transformations = await openTransformations({ ...sealed, ...defined({ openSandboxes }) });
      const started = await runDelivery({
        store,
        suppressions,
        transformations,
        catalog: await catalogOf(data, logger, { ...given, clock }),
        clock,
        policy: data.policy,
        logger: logger.with({ component: "delivery" }),
        events: eventsTo(notify, logger, live),
        tracing: tracingOfThread(data.tracesShare, (span) => notify({ kind: "span", span })),
        mayBegin: begun.promise,
        async disableTarget(destinationId, url) {
          notify({ kind: "gone", destinationId, url });
          return false;
        },
        assigned,
      });
      running = { delivery: started, store, transformations };
      if (companion !== undefined) await join(companion, { store, suppressions, logger });
    },
    begin: () => begun.resolve(),
    watch(isWatched) {
      live.watched = isWatched;
    },
    async takePurges(purges) {
      purged.push(...purges);
      suppressions?.takePurges(purges);
    },
    assign: (ids) => delivery().assign(ids),
    wake: (id) => delivery().wake(id),
    requeued: (id) => delivery().requeued(id),
    discard: (id, deliveries, reason) => delivery().discard(id, deliveries, reason),
    status: (id) => delivery().status(id),
    readings: () => delivery().readings(),
    async close(graceMs) {
      await running?.delivery.close(graceMs);
      suppressions?.close();
      await running?.transformations.close();
      running?.store.close();
    },
  };
  const server = serve<DeliveryThreadApi, { message: string }, DeliveryNotice>(parent, api, {
    lastMethod: "close",
  });
}

interface Running {
  readonly delivery: RunningDelivery;
  readonly store: JoinedStore;
  readonly transformations: Transformations;
}

function eventsTo(notify: Notify, logger: Logger, live: Parameters<typeof deliveryEvents>[2]) {
  const tally = batchedTally((counts) => notify({ kind: "tally", tally: counts }));
  return deliveryEvents(logger.with({ component: "delivery" }), tally, live);
}

type LivePublish = (
  event: Extract<DeliveryNotice, { kind: "live" }>["event"],
  stored?: Extract<DeliveryNotice, { kind: "live" }>["stored"],
) => void;

async function catalogOf(
  { key, allowTargets, packages, folder, exportsFolder }: DeliveryThreadData,
  logger: Logger,
  { clock, resolve, openEndpoint }: Pick<CatalogDeps, "clock" | "resolve" | "openEndpoint">,
): Promise<Catalog> {
  const log = logger.with({ component: "destinations" });
  return createCatalog({
    ...{ clock, ...defined({ resolve, openEndpoint }) },
    secrets: secretBox(key),
    egress: egressPolicy({ allow: allowTargets }),
    exportsFolder,
    packages: await loadPackages(packages, folder, BUILT_IN_TYPES),
    log: (level, text, fields) => log[level](text, fields),
  });
}

/** Lines are written by the main thread. */
function loggerTo(notify: Notify, bound: LogFields = {}): Logger {
  const at =
    (level: LogLevel) =>
    (text: string, fields: LogFields = {}): void => {
      try {
        notify({ kind: "log", level, text, fields: { ...bound, ...fields } });
      } catch (error) {
        // A package may log what cannot be sent to another thread.
        notify({ kind: "log", level, text, fields: { ...bound, fieldsLeftOut: String(error) } });
      }
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => loggerTo(notify, { ...bound, ...fields }),
  };
}
