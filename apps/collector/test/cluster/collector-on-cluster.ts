import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "@sluice/resilience";
// @boundaries-ignore the address of `npm run cluster`
import { startBalancer } from "../../../../scripts/cluster/balancer.ts";
// @boundaries-ignore the servers are for tests of all packages
import { type NatsCluster, startNatsCluster } from "../../../../test/nats/nats-cluster.ts";
import type { ClusterEngine, OpenEngineParts } from "../../src/cluster/cluster-options.js";
import type { Collector } from "../../src/collector.js";
import type { CollectorOptions } from "../../src/collector-options.js";
import { type ClusterWorld, clusterWorld } from "./cluster-world.js";
import { HOME, PARTITIONS, type TestStore } from "./test-store.js";

const NODES = ["a", "b", "c"] as const;
const LOG_BYTES = 64 * 1_024 * 1_024;

/** A collector in this process: alone, or three processes of a cluster behind one address. */
export interface OpenedCollector {
  readonly directory: string;
  /** In a cluster, the address of all, and what the owner of the first source's partition has. */
  readonly collector: Collector;
  /** Of the processes in turn. */
  nextUrl(): string;
  /** Those of all processes with a store, as one text without numbers of partitions. */
  metrics(): Promise<string>;
  start(): Promise<void>;
  /** Their folders stay. */
  stop(): Promise<void>;
  remove(): Promise<void>;
}

export interface OpenedCluster extends OpenedCollector {
  /** What the owner of a partition has. */
  collectorOf(partition: number): Collector;
  /** A process that owns neither the first source's partition nor the control partition. */
  bystander(): Pick<Collector, "url" | "port">;
  readonly logged: readonly string[];
}

export async function openClusterCollector(
  store: Exclude<TestStore, "embedded">,
  /** Called for each start of a process. */
  options: () => Partial<CollectorOptions>,
  /** What collectors show, while leases and timers go on by the real time. */
  collectorClock?: Clock,
): Promise<OpenedCluster> {
  const nats = store === "jetstream" ? await openNats() : undefined;
  const owners = new Map<number, Collector>();
  const world = await clusterWorld({
    collectorClock,
    onCollector: (collector, { cluster }) => owners.set(cluster?.partition?.number ?? 0, collector),
    ...(nats === undefined ? {} : { openEngine: nats.openEngine }),
  });
  const balancer = await startBalancer(0, () => [...world.nodes().values()].map(({ port }) => port));
  const url = `http://127.0.0.1:${balancer.port}`;
  const collectorOf = (partition: number): Collector => {
    const found = owners.get(partition);
    if (found === undefined) throw new Error(`partition ${partition} has no owner yet`);
    return found;
  };
  const owner = (): Collector => collectorOf(HOME);
  const urls = (): readonly string[] => [...world.nodes().values()].map((node) => node.url);
  const stop = async (): Promise<void> => {
    if (world.nodes().size === 0) return;
    const { node: last } = await world.owner();
    // The owner ends last, so that nobody takes over for a moment.
    for (const node of NODES) if (node !== last) await world.stop(node);
    await world.stop(last);
  };
  const first: { run?: Collector["firstRun"] } = {};
  let turn = 0;
  const self: OpenedCluster = {
    directory: world.folder,
    logged: world.logged,
    collectorOf,
    bystander() {
      const processes = [...world.nodes().values()];
      const found = processes.find(({ state: { partitions } }) =>
        [0, HOME].every((number) => partitions[number]?.isOwner !== true),
      );
      return found ?? (processes[0] as Pick<Collector, "url" | "port">);
    },
    nextUrl: () => urls()[turn++ % urls().length] ?? url,
    async metrics() {
      const asked = PARTITIONS === 1 ? [(await world.owner()).url] : urls();
      const texts = await Promise.all(asked.map(async (one) => (await fetch(`${one}/metrics`)).text()));
      return PARTITIONS === 1 ? texts.join("\n") : summed(texts);
    },
    collector: {
      ...{ url, adminUrl: url, port: balancer.port },
      get publicUrl() {
        return owner().publicUrl;
      },
      get firstRun() {
        return first.run;
      },
      get region() {
        return owner().region;
      },
      get store() {
        return owner().store;
      },
      close: stop,
    },
    async start() {
      for (const node of NODES) {
        await world.start(node, options(), { partitions: PARTITIONS });
        await world.owner();
      }
      await sharedEvenly(world);
      first.run ??= await firstSource(collectorOf(0).firstRun, url);
    },
    stop,
    async remove() {
      await balancer.close();
      await world[Symbol.asyncDispose]();
      await nats?.close();
    },
  };
  await self.start();
  return self;
}

/** Metrics without numbers of partitions: what a collector alone would show. */
function summed(texts: readonly string[]): string {
  const sums = new Map<string, number>();
  for (const line of texts
    .join("\n")
    .split("\n")
    .filter((one) => /^[a-z]/.test(one))) {
    const at = line.lastIndexOf(" ");
    const series = line
      .slice(0, at)
      .replace(/\{partition="\d+"(?:(,)|\})/, (_, more) => (more === undefined ? "" : "{"));
    sums.set(series, (sums.get(series) ?? 0) + Number(line.slice(at + 1)));
  }
  return [...sums].map(([series, sum]) => `${series} ${sum}\n`).join("");
}

/** Resolves when every partition has an owner, and each process has its share. */
async function sharedEvenly(world: ClusterWorld): Promise<void> {
  const share = Math.floor(PARTITIONS / NODES.length);
  for (;;) {
    const owned = [...world.nodes().values()].map(
      ({ state }) => state.partitions.filter(({ isOwner }) => isOwner).length,
    );
    const sum = owned.reduce((total, count) => total + count, 0);
    if (sum === PARTITIONS && Math.min(...owned) >= share) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** With several partitions, another source than that of the first start: one that lives in the last partition. */
async function firstSource(run: Collector["firstRun"], url: string): Promise<Collector["firstRun"]> {
  if (run === undefined || HOME === 0) return run;
  const call = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${run.adminToken}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  const others: string[] = [];
  for (;;) {
    const { id, partition, writeKeys } = (await (
      await call("POST", "/sources", { name: "My app" })
    ).json()) as { id: string; partition: number; writeKeys: { key: string }[] };
    if (partition !== HOME) {
      others.push(id);
      continue;
    }
    for (const other of others) await call("DELETE", `/sources/${other}`);
    return { ...run, sourceId: id, writeKey: writeKeys[0]?.key ?? "" };
  }
}

async function openNats() {
  const directory = await mkdtemp(join(tmpdir(), "sluice-cluster-nats-"));
  const nats: NatsCluster = await startNatsCluster({ directory });
  return {
    async openEngine({
      clusterId,
      fingerprint,
      partition,
      isNewPartition,
    }: OpenEngineParts): Promise<ClusterEngine> {
      const { openJetStream } = await import("@sluice/event-log/jetstream");
      return openJetStream({
        ...{ servers: nats.urls, monitors: nats.monitors, cluster: "test", clock: systemClock },
        ...{ fingerprint, maxLogBytes: LOG_BYTES, partition, isNewPartition },
        ...(clusterId === undefined ? {} : { clusterId }),
      });
    },
    async close() {
      await nats.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
