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
import { clusterWorld } from "./cluster-world.js";
import type { TestStore } from "./test-store.js";

const NODES = ["a", "b", "c"] as const;
const LOG_BYTES = 64 * 1_024 * 1_024;

/** A collector in this process: alone, or three processes of a cluster behind one address. */
export interface OpenedCollector {
  readonly directory: string;
  /** In a cluster, the address of all, and what the owner has. */
  readonly collector: Collector;
  /** Of the processes in turn. */
  nextUrl(): string;
  /** Those of the owner. */
  metrics(): Promise<string>;
  start(): Promise<void>;
  /** Their folders stay. */
  stop(): Promise<void>;
  remove(): Promise<void>;
}

export async function openClusterCollector(
  store: Exclude<TestStore, "embedded">,
  /** Called for each start of a process. */
  options: () => Partial<CollectorOptions>,
  /** What collectors show, while leases and timers go on by the real time. */
  collectorClock?: Clock,
): Promise<OpenedCollector> {
  const nats = store === "jetstream" ? await openNats() : undefined;
  let latest: Collector | undefined;
  const world = await clusterWorld({
    collectorClock,
    onCollector: (collector) => {
      latest = collector;
    },
    ...(nats === undefined ? {} : { openEngine: nats.openEngine }),
  });
  const balancer = await startBalancer(0, () => [...world.nodes().values()].map(({ port }) => port));
  const url = `http://127.0.0.1:${balancer.port}`;
  const owner = (): Collector => {
    if (latest === undefined) throw new Error("the cluster has no owner yet");
    return latest;
  };
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
  const self: OpenedCollector = {
    directory: world.folder,
    nextUrl: () => urls()[turn++ % urls().length] ?? url,
    async metrics() {
      return (await fetch(`${(await world.owner()).url}/metrics`)).text();
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
        await world.start(node, options());
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
    async openEngine({ clusterId, fingerprint }: OpenEngineParts): Promise<ClusterEngine> {
      const { openJetStream } = await import("@sluice/event-log/jetstream");
      return openJetStream({
        ...{ servers: nats.urls, monitors: nats.monitors, cluster: "test", clock: systemClock },
        ...{ fingerprint, maxLogBytes: LOG_BYTES },
        ...(clusterId === undefined ? {} : { clusterId }),
      });
    },
    async close() {
      await nats.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
