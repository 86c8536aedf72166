import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DefinedDestination } from "@sluice/destination";
import type { Attempt, Delivery, Offset, Store } from "@sluice/event-log";
import { openMemoryStore } from "@sluice/event-log";
import { type BatchOptions, batchOf, type TestMessage } from "@sluice/event-log/testing";
import { type Clock, systemClock } from "@sluice/resilience";
import type { ManualClock } from "@sluice/resilience/testing";
import type { Sandboxes } from "@sluice/transformations";
import { afterEach } from "vitest";
import {
  changeDestination,
  createDestination,
  type DestinationChange,
  type NewDestination,
} from "../../src/delivery/control/connections.js";
import type { DeliveryPolicy } from "../../src/delivery/delivery-stage.js";
import { type DeliveryDeps, type DeliveryRuntime, startDelivery } from "../../src/delivery/start-delivery.js";
import { type Catalog, createCatalog } from "../../src/destinations/catalog.js";
import { type SecretBox, secretBox } from "../../src/destinations/secret-box.js";
import type { SourceDocument } from "../../src/documents/documents.js";
import { type LiveEvent, type LiveEvents, liveEvents } from "../../src/process/telemetry/live-events.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import { createMetrics } from "../../src/process/telemetry/metrics.js";
import type { Tracing } from "../../src/process/telemetry/tracing.js";
import type { ResolveHost } from "../../src/sender/checked-connector.js";
import { egressPolicy } from "../../src/sender/egress-policy.js";
import type { OpenEndpoint } from "../../src/sender/endpoint.js";
import { openTransformations } from "../../src/transformations/transformations.js";

export interface FixtureOptions {
  readonly clock?: Clock;
  readonly store?: Store;
  readonly allow?: readonly string[];
  readonly resolve?: ResolveHost;
  readonly policy?: Partial<DeliveryPolicy>;
  readonly openEndpoint?: OpenEndpoint;
  readonly source?: Partial<SourceDocument>;
  readonly tracing?: Tracing;
  readonly suppressions?: DeliveryDeps["suppressions"];
  /** Types besides those of every collector. */
  readonly given?: readonly DefinedDestination[];
  /** Runs the code of transformations. Default: the real sandboxes. */
  readonly openSandboxes?: () => Promise<Sandboxes>;
}

type Outcome = Extract<LiveEvent, { kind: "outcome" }>;

export interface DeliveryFixture {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly secrets: SecretBox;
  readonly delivery: DeliveryRuntime;
  readonly live: LiveEvents;
  /** All log lines so far. */
  readonly log: readonly string[];
  readonly folder: string;
  /** Creates a destination for source `src_1`, by default of type `webhooks`. Returns its id. */
  create(destination: Partial<NewDestination> & { readonly settings: unknown }): Promise<string>;
  change(id: string, change: DestinationChange): Promise<void>;
  append(messages: readonly TestMessage[], options?: BatchOptions): Promise<void>;
  /** Resolves when the message has an outcome in that state, including past ones. `nth`: which one, from 1. */
  until(
    messageId: string,
    state: Outcome["state"],
    which?: { readonly destinationId?: string; readonly nth?: number },
  ): Promise<Outcome>;
  /** Returns the stored deliveries of a message. Waits until pending settlements are stored. */
  deliveries(messageId: string): Promise<readonly Delivery[]>;
  attempts(destinationId: string, messageId: string): Promise<readonly Attempt[]>;
  /** Advances a manual clock exactly to the next retry of a message. No further, because sockets take real time. */
  toNextAttempt(messageId: string): Promise<void>;
  /** Stops delivery and starts it again on the same store. */
  restart(graceMs?: number): Promise<void>;
}

const opened: (() => Promise<void>)[] = [];

/** Call this in a test file. Closes everything that its tests open. */
export function closeDeliveries(): void {
  afterEach(async () => {
    for (const close of opened.splice(0).reverse()) await close();
  });
}

/** Starts delivery on a memory store with one source, `src_1`. Loopback addresses are allowed. */
export async function openDelivery(options: FixtureOptions = {}): Promise<DeliveryFixture> {
  const clock = options.clock ?? systemClock;
  const store = options.store ?? openMemoryStore({ clock });
  const folder = await mkdtemp(join(tmpdir(), "sluice-delivery-"));
  const secrets = secretBox(randomBytes(32));
  const catalog = createCatalog({
    clock,
    secrets,
    egress: egressPolicy({ allow: options.allow ?? ["127.0.0.0/8"] }),
    exportsFolder: folder,
    given: options.given ?? [],
    ...(options.resolve === undefined ? {} : { resolve: options.resolve }),
    ...(options.openEndpoint === undefined ? {} : { openEndpoint: options.openEndpoint }),
  });
  await store.config.put<SourceDocument>("source", "src_1", {
    name: "Shop",
    kind: "server",
    createdAt: "2026-01-01T00:00:00.000Z",
    writeKeys: [],
    blockedEvents: [],
    ...options.source,
  });
  const live = liveEvents();
  const outcomes: Outcome[] = [];
  live.subscribe((event) => {
    if (event.kind === "outcome") outcomes.push(event);
  });
  const log: string[] = [];
  const logger = createLogger({ level: "debug", write: (line) => log.push(line) });
  const { openSandboxes } = options;
  const transformations = await openTransformations({
    config: store.config,
    secrets,
    ...(openSandboxes === undefined ? {} : { openSandboxes }),
  });
  const start = (): Promise<DeliveryRuntime> =>
    startDelivery({
      transformations,
      store,
      catalog,
      clock,
      logger,
      metrics: createMetrics(),
      live,
      tracing: options.tracing,
      ...(options.suppressions === undefined ? {} : { suppressions: options.suppressions }),
      ...(options.policy === undefined ? {} : { policy: options.policy }),
    });
  let delivery = await start();
  opened.push(async () => {
    await delivery.close(0);
    await transformations.close();
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });

  const offsetOf = async (messageId: string): Promise<Offset> => {
    const { items } = await store.log.find({ messageId }, { limit: 1 });
    const [stored] = items;
    if (stored === undefined) throw new Error(`There is no message ${messageId}`);
    return stored.offset;
  };
  /** Settlements are stored one turn of the event loop after the round ends. */
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  };

  return {
    store,
    catalog,
    clock,
    secrets,
    get delivery() {
      return delivery;
    },
    live,
    log,
    folder,
    async create(destination) {
      const result = await createDestination(
        { store, catalog, clock },
        { type: "webhooks", sourceIds: ["src_1"], ...destination },
      );
      if (result.kind !== "changed") throw new Error(`Not created: ${JSON.stringify(result)}`);
      return result.destination.id;
    },
    async change(id, change) {
      const result = await changeDestination({ store, catalog, clock }, id, change);
      if (result.kind !== "changed") throw new Error(`Not changed: ${JSON.stringify(result)}`);
    },
    async append(messages, batch) {
      await store.log.append(batchOf(messages, { receivedAtMs: clock.now(), ...batch }));
    },
    until: (messageId, state, { destinationId, nth = 1 } = {}) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = outcomes.filter(
            (event) =>
              event.messageId === messageId &&
              event.state === state &&
              (destinationId === undefined || event.destinationId === destinationId),
          )[nth - 1];
          if (found === undefined) return;
          end();
          resolve(found);
        };
        const end = live.subscribe(look);
        look();
      }),
    async deliveries(messageId) {
      await settled();
      return store.consumers.outcomesOf(await offsetOf(messageId));
    },
    async attempts(destinationId, messageId) {
      await settled();
      return store.consumers.attemptsOf(destinationId, await offsetOf(messageId));
    },
    async toNextAttempt(messageId) {
      await settled();
      const [pending] = await store.consumers.outcomesOf(await offsetOf(messageId));
      if (pending?.nextAttemptAtMs === undefined) throw new Error(`${messageId} is not pending`);
      await (clock as ManualClock).advance(pending.nextAttemptAtMs - clock.now());
    },
    async restart(graceMs = 0) {
      await delivery.close(graceMs);
      delivery = await start();
    },
  };
}
