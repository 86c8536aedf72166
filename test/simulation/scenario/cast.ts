import {
  type Identity,
  type NewBatch,
  openMemoryStore,
  type Settlement,
  type Store,
} from "@sluice/event-log";
import { ClusterActor } from "../actors/cluster-actor.js";
import { CollectorActor, type CollectorActorOptions } from "../actors/collector-actor.js";
import { type History, newHistory } from "../actors/history.js";
import { Receivers } from "../actors/receivers.js";
import type { Behaviour } from "../actors/sandboxes.js";
import { SdkActor } from "../actors/sdk-actor.js";
import type { Site } from "../actors/site.js";
import { observeCalls } from "../actors/thread-calls.js";
import { Warehouse } from "../actors/warehouse.js";
import type { WorkerThread } from "../actors/workers.js";
import { Disk } from "../world/disk.js";
import type { ProcessClock } from "../world/machine.js";
import { ProfileDisk } from "../world/profile-disk.js";
import { newFolder, SqliteFolder } from "../world/sqlite-folder.js";
import type { World } from "../world/world.js";
import type { DestinationPlan, Scenario, WarehousePlan } from "./scenario.js";

/** A destination of the collector, and what the scenario did to it. */
export interface CastDestination {
  readonly id: string;
  readonly plan: DestinationPlan;
  /** Every URL that it had. The last `plan.urls` of them are the current ones. */
  readonly urls: string[];
  /** An administrator set its filters: it may have dropped odd messages. */
  droppedOdd: boolean;
  /** Undefined: it has none. */
  readonly transformation: CastTransformation | undefined;
  /** An administrator disabled it for a while: it may skip messages. */
  wasDisabled: boolean;
  /** When it was certainly disabled. */
  readonly off: { readonly fromMs: number; untilMs: number }[];
  /** How often somebody wanted to enable it. */
  enablings: number;
  /** URLs that it certainly had no longer. */
  readonly left: { readonly urls: readonly string[]; readonly fromMs: number }[];
}

/** The code between the sources and a destination. */
export interface CastTransformation {
  readonly id: string;
  /** Everything that it may have done. */
  readonly saved: Set<Behaviour>;
  /** Which version was certainly in force, and when. */
  readonly answered: { readonly version: number; readonly atMs: number }[];
}

/** The destination with batches, and what the scenario did to it. */
export interface CastWarehouse extends WarehousePlan {
  readonly id: string;
  readonly server: Warehouse;
  /** The last that was wanted. */
  place: string;
  /** When settings were, or may have been, changed. */
  readonly changes: number[];
  wasDisabled: boolean;
}

/** Everybody who takes part in a run. */
export interface Cast {
  readonly world: World;
  readonly history: History;
  readonly disk: Disk;
  readonly collector: Site;
  /** A thread of the collector that works, by its place. Undefined: none runs besides the main one. */
  readonly worker: (place: number) => WorkerThread | undefined;
  /** The same, if it is a cluster. */
  readonly cluster: ClusterActor | undefined;
  readonly receivers: Receivers;
  readonly sdks: readonly SdkActor[];
  readonly sources: readonly { readonly id: string; readonly writeKey: string }[];
  readonly destinations: readonly CastDestination[];
  readonly warehouse: CastWarehouse | undefined;
  /** The ids of audiences by slot; empty while one is being created. */
  readonly audiences: Map<number, string>;
  /** Of the embedded store. */
  readonly folder: SqliteFolder | undefined;
  readonly profiles: ProfileDisk;
}

/** All destinations, with the indexes of their sources. */
export function everyDestination({ destinations, warehouse }: Pick<Cast, "destinations" | "warehouse">) {
  const all = destinations.map(({ id, plan: { name, sources } }) => ({ id, name, sources }));
  return warehouse === undefined ? all : [...all, { name: "warehouse", ...warehouse }];
}

/** An administrator is about to enable a destination. */
export function enabling(destination: CastDestination, atMs: number): void {
  destination.enablings += 1;
  for (const span of destination.off) span.untilMs = Math.min(span.untilMs, atMs);
}

export const DROPS_ODD = [
  { where: [{ path: "properties.odd", is: "equals", value: true }], action: { kind: "drop" } },
];

/** Starts a collector, configures it over the control API, and starts the applications. */
export async function assemble(scenario: Scenario, world: World): Promise<Cast> {
  const history = newHistory();
  const disk = new Disk(world);
  const folder = scenario.store === "embedded" ? new SqliteFolder({}) : undefined;
  disk.onDurable = (call, args) => {
    if (call === "store.purge") {
      const { identities = [] } = args[0] as { identities?: readonly Identity[] };
      history.purges.push({ identities, atMs: world.elapsedMs });
    }
    if (call !== "consumers.settle") return;
    const [id, { outcomes, retries }] = args as [string, Settlement];
    for (const { offset, state } of outcomes)
      history.stored.addOutcome(id, offset, { state, atMs: world.elapsedMs });
    for (const { offset, rounds, doneUrls } of retries) {
      if (rounds > 0) history.stored.addRetry(id, offset, history.runs.length, world.elapsedMs);
      for (const url of doneUrls) history.stored.addDone(id, offset, url, world.elapsedMs);
    }
  };
  disk.onResult = (call, args, result) => {
    if (call === "log.append") {
      const batch = args[0] as NewBatch;
      const { duplicates, isHandedBack } = result as Awaited<ReturnType<Store["log"]["append"]>>;
      if (isHandedBack !== true) history.written.push({ text: textOf(batch), atMs: world.elapsedMs });
      if (folder !== undefined && scenario.workers === 1)
        history.appended.add(batch, duplicates, world.elapsedMs);
    }
    if (call !== "consumers.retryNow") return;
    for (const offset of result as readonly number[])
      history.stored.addRequeue(String(args[0]), offset, world.elapsedMs);
  };
  if (folder !== undefined) folder.onJoin = (port) => observeCalls(port, { world, history, disk });
  const receivers = new Receivers(world, history);
  const warehousePlan = scenario.warehouse;
  const server = new Warehouse(world);
  if (warehousePlan !== undefined)
    receivers.batches = (run, isAlive) => server.typeFor(run, isAlive, warehousePlan);
  const profiles = new ProfileDisk(world, folder === undefined ? "memory" : "file");
  const cluster =
    scenario.store === "replicated"
      ? new ClusterActor({ world, history, disk, receivers, folder: newFolder() })
      : undefined;
  const single = (): CollectorActor =>
    new CollectorActor({
      ...{ world, history, disk, receivers, workers: scenario.workers },
      // Retention keeps what the event catalog has not read.
      watchersAreSlowerBy: folder === undefined ? 10_000 : 100,
      durable: folder === undefined ? memoryDurable(profiles) : embeddedDurable(folder, profiles),
    });
  const collector: Site = cluster ?? single();
  await world.until(collector.start(), 60_000, "the first start of the collector");
  const call = <T>(method: string, path: string, body?: object): Promise<T> =>
    world.until(collector.api(method, path, body) as Promise<T>, 60_000, `${method} ${path}`);
  const sources: { id: string; writeKey: string }[] = [];
  for (let index = 0; index < scenario.sources; index++) {
    const { id, writeKeys } = await call<{ id: string; writeKeys: readonly { key: string }[] }>(
      "POST",
      "/sources",
      {
        name: `source ${index}`,
      },
    );
    sources.push({ id, writeKey: writeKeys[0]?.key ?? "" });
  }
  const destinations: CastDestination[] = [];
  for (const plan of scenario.destinations) {
    const urls = Array.from({ length: plan.urls }, (_, index) => `https://${plan.name}-${index}.example/`);
    const made = plan.isTransformed
      ? await call<{ id: string }>("POST", "/transformations", {
          ...{ name: plan.name, code: "passes all", language: "javascript" },
        })
      : undefined;
    const { id } = await call<{ id: string }>("POST", "/destinations", {
      type: "webhooks",
      name: plan.name,
      sourceIds: plan.sources.map((index) => sources[index]?.id),
      retryForMs: plan.retryForMs,
      filters: plan.dropsOdd ? DROPS_ODD : [],
      ...(made === undefined ? {} : { transformationId: made.id }),
      settings: {
        webhooks: urls.map((url) => ({ url })),
        order: plan.order,
        concurrency: plan.concurrency,
        success: plan.success,
      },
    });
    destinations.push({
      id,
      plan,
      urls,
      droppedOdd: plan.dropsOdd,
      transformation: made && { id: made.id, saved: new Set(["passes all"]), answered: [] },
      wasDisabled: false,
      off: [],
      enablings: 0,
      left: [],
    });
  }
  let warehouse: CastWarehouse | undefined;
  if (warehousePlan !== undefined) {
    const { id } = await call<{ id: string }>("POST", "/destinations", {
      ...{ type: "warehouse", name: "warehouse", retryForMs: warehousePlan.retryForMs, settings: {} },
      sourceIds: warehousePlan.sources.map((index) => sources[index]?.id),
    });
    server.behaviour = { kind: warehousePlan.usual };
    warehouse = { ...warehousePlan, id, server, place: "a", changes: [], wasDisabled: false };
  }
  const sdks = scenario.sdks.map((plan) => {
    const source = sources[plan.source] ?? { id: "", writeKey: "" };
    return new SdkActor({ world, history, collector, plan, sourceId: source.id, writeKey: source.writeKey });
  });
  for (const sdk of sdks) sdk.start();
  return {
    world,
    history,
    disk,
    collector,
    worker: (place) => (collector instanceof CollectorActor ? collector.worker(place) : undefined),
    cluster,
    receivers,
    sdks,
    sources,
    destinations,
    warehouse,
    audiences: new Map(),
    folder,
    profiles,
  };
}

function textOf({ body, madeIds }: NewBatch): string {
  return Buffer.from(body).toString("latin1") + JSON.stringify(madeIds);
}

/** A store in memory that outlives the processes. Its clock is that of the running process. */
function memoryDurable(profiles: ProfileDisk): CollectorActorOptions["durable"] {
  let current: ProcessClock | undefined;
  const store = openMemoryStore({
    clock: {
      now: () => current?.now() ?? 0,
      monotonic: () => current?.monotonic() ?? 0,
      random: () => current?.random() ?? 0,
      after: () => () => {},
      sleep: async () => {},
    },
  });
  return async (clock) => {
    current = clock;
    return { store, profiles, crash: () => profiles.crash() };
  };
}

/** The embedded store in a folder. */
function embeddedDurable(folder: SqliteFolder, profiles: ProfileDisk): CollectorActorOptions["durable"] {
  return async (clock) => ({
    store: await folder.open(clock),
    profiles,
    crash() {
      profiles.crash();
      folder.crash();
    },
  });
}
