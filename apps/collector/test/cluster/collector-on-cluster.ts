import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@sluice/resilience";
// @boundaries-ignore the address of `npm run cluster`
import { startBalancer } from "../../../../scripts/cluster/balancer.ts";
// @boundaries-ignore the servers are for tests of all packages
import { type NatsCluster, startNatsCluster } from "../../../../test/nats/nats-cluster.ts";
import type { ClusterEngine, OpenEngineParts } from "../../src/cluster/cluster-options.js";
import type { Collector } from "../../src/collector.js";
import type { CollectorOptions } from "../../src/collector-options.js";
import { clusterWorld } from "./cluster-world.js";

/** The store of the collectors that `openCollector` opens: three collectors on an engine in memory, or on three NATS servers. */
export type TestStore = "embedded" | "replicated" | "jetstream";

const STORES: readonly string[] = ["embedded", "replicated", "jetstream"] satisfies TestStore[];
const PARTITIONS = Number(process.env.SLUICE_TEST_PARTITIONS ?? 1);
const NODES = ["a", "b", "c"] as const;
const LOG_BYTES = 64 * 1_024 * 1_024;

/** What `SLUICE_TEST_STORE` asks for. */
export function testStore(): TestStore {
  const asked = process.env.SLUICE_TEST_STORE ?? "embedded";
  if (!STORES.includes(asked))
    throw new Error(`SLUICE_TEST_STORE must be one of ${STORES.join(", ")}, got ${asked}`);
  return asked as TestStore;
}

/** For tests that damage the file of the store: in a cluster, a damaged copy is replaced by itself. */
export const isOnCluster: boolean = testStore() !== "embedded";

/** A collector in this process: alone, or three processes of a cluster behind one address. */
export interface OpenedCollector {
  readonly directory: string;
  /** In a cluster, the address of all, and what the owner has. */
  readonly collector: Collector;
  /** Of the one that has the store. */
  ownerUrl(): Promise<string>;
  start(): Promise<void>;
  /** Their folders stay. */
  stop(): Promise<void>;
  remove(): Promise<void>;
}

export async function openClusterCollector(
  store: Exclude<TestStore, "embedded">,
  /** Called for each start of a process. */
  options: () => Partial<CollectorOptions>,
): Promise<OpenedCollector> {
  const nats = store === "jetstream" ? await openNats() : undefined;
  const started: { owner?: Collector } = {};
  const world = await clusterWorld({
    onCollector(collector, { cluster }) {
      if ((cluster?.partition?.number ?? 0) === 0) started.owner = collector;
    },
    ...(nats === undefined ? {} : { openEngine: nats.openEngine }),
  });
  const balancer = await startBalancer(0, () => [...world.nodes().values()].map(({ port }) => port));
  const url = `http://127.0.0.1:${balancer.port}`;
  const owner = (): Collector => {
    if (started.owner === undefined) throw new Error("the cluster has no owner yet");
    return started.owner;
  };
  const stop = async (): Promise<void> => {
    if (world.nodes().size === 0) return;
    const { node: last } = await world.owner();
    // The owner ends last, so that nobody takes over for a moment.
    for (const node of NODES) if (node !== last) await world.stop(node);
    await world.stop(last);
  };
  const first: { run?: Collector["firstRun"] } = {};
  const self: OpenedCollector = {
    directory: world.folder,
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
    ownerUrl: async () => (await world.owner()).url,
    async start() {
      for (const node of NODES) {
        await world.start(node, options(), { partitions: PARTITIONS });
        await world.owner();
      }
      first.run ??= owner().firstRun;
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
