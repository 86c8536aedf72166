import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ReplicationEngine } from "@sluice/event-log";
import { type MemoryEngines, openMemoryEngines } from "@sluice/event-log/testing";
import type { Clock } from "@sluice/resilience";
import type { ClusterEngine, ClusterOptions, OpenEngineParts } from "../../src/cluster/cluster-options.js";
import { type ClusterNode, startClusterNode } from "../../src/cluster/start-node.js";
import type { Collector } from "../../src/collector.js";
import { type CollectorOptions, startCollector } from "../../src/index.js";
import { createLogger } from "../../src/process/telemetry/logger.js";

export const ADMIN_TOKEN = "the-admin-token-of-the-cluster";
export const SECRET_KEY = Buffer.alloc(32, 7).toString("base64");

export interface ClusterWorld extends AsyncDisposable {
  readonly engines: MemoryEngines;
  readonly logged: string[];
  /** Starts a process. The same name continues on the same folder. */
  start(
    node: string,
    options?: Partial<CollectorOptions>,
    clusterOptions?: Partial<ClusterOptions>,
  ): Promise<ClusterNode>;
  stop(node: string): Promise<void>;
  /** The folder of all processes' folders. */
  readonly folder: string;
  folderOf(node: string): string;
  /** The process that is the owner, as soon as it is one of these. */
  owner(among?: readonly string[]): Promise<ClusterNode & { readonly node: string }>;
  nodes(): ReadonlyMap<string, ClusterNode>;
}

export interface ClusterWorldOptions {
  /** Default: an engine in memory. */
  readonly openEngine?: (parts: OpenEngineParts) => Promise<ClusterEngine>;
  /** Called with the collector of each owner. */
  readonly onCollector?: (collector: Collector, options: CollectorOptions) => void;
  /** Of the collectors of owners. Default: that of the processes. */
  readonly collectorClock?: Clock | undefined;
}

/** Processes of a cluster, in this process. */
export async function clusterWorld({
  openEngine,
  onCollector,
  collectorClock,
}: ClusterWorldOptions = {}): Promise<ClusterWorld> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-cluster-"));
  const engines = openMemoryEngines();
  const logged: string[] = [];
  const running = new Map<string, ClusterNode>();
  const stop = async (node: string): Promise<void> => {
    const found = running.get(node);
    running.delete(node);
    await found?.close(5_000);
  };
  return {
    engines,
    logged,
    async start(node, options = {}, clusterOptions = {}) {
      const started = await startClusterNode({
        mode: "production",
        host: "127.0.0.1",
        port: 0,
        dataDirectory: join(folder, node),
        logger: createLogger({ write: (line) => logged.push(line) }),
        adminToken: ADMIN_TOKEN,
        secretKey: SECRET_KEY,
        allowTargets: ["127.0.0.1"],
        ...options,
        async startCollector(own) {
          const collector = await startCollector(
            collectorClock === undefined ? own : { ...own, clock: collectorClock },
          );
          onCollector?.(collector, own);
          return collector;
        },
        clusterOptions: {
          name: "test",
          node,
          leaseMs: 1_500,
          openEngine: openEngine ?? (async () => keptOpen(engines.engineFor(node))),
          ...clusterOptions,
        },
      });
      running.set(node, started);
      return started;
    },
    stop,
    folder,
    folderOf: (node) => join(folder, node),
    async owner(among = [...running.keys()]) {
      for (;;) {
        for (const node of among) {
          const found = running.get(node);
          if (found?.state.isOwner === true) return Object.assign(Object.create(found), { node });
        }
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    nodes: () => running,
    async [Symbol.asyncDispose]() {
      await Promise.all([...running.keys()].map(stop));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A process that starts again has the same engine. */
function keptOpen(engine: ReplicationEngine): ReplicationEngine {
  return {
    log: engine.log,
    leases: engine.leases,
    snapshots: engine.snapshots,
    health: () => engine.health(),
    onHealth: (listener) => engine.onHealth(listener),
    close: async () => {},
  };
}

/** Calls the control API of any process. */
export async function api(url: string, method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}
