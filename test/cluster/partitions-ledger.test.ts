import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type NatsCluster, startNatsCluster } from "../nats/nats-cluster.ts";
import { findNatsServer } from "../nats/nats-server.ts";
import {
  type ClusterProcess,
  clusterProcess,
  connectSource,
  freePorts,
  pause,
  startLoad,
  startReceiver,
  startWhenPlaced,
} from "./cluster-processes.ts";

const PARTITIONS = Number(process.env.SLUICE_CLUSTER_PARTITIONS ?? 0);
/** On a machine that is busy with much else. */
const SHARED_WITHIN_MS = 120_000;
const server = findNatsServer();

interface Ready {
  readonly node: string;
  readonly owns?: readonly number[];
}

/** The test of one partition runs always. This one is its long form: `SLUICE_CLUSTER_PARTITIONS=4`. */
describe.skipIf(server.kind === "missing" || PARTITIONS < 2)(
  "a cluster of several partitions on JetStream",
  () => {
    const directory = mkdtempSync(join(tmpdir(), "sluice-partitions-"));
    let nats: NatsCluster;
    let processes: ClusterProcess[];

    beforeAll(async () => {
      mkdirSync(join(directory, "nats"));
      nats = await startNatsCluster({ directory: join(directory, "nats") });
      const ports = await freePorts(3);
      processes = ["a", "b", "c"].map((node, i) =>
        clusterProcess({
          ...{ node, directory, servers: nats.urls, monitors: nats.monitors },
          port: ports[i] as number,
          env: {
            SLUICE_CLUSTER_PARTITIONS: String(PARTITIONS),
            SLUICE_CLUSTER_MAX_LOG_BYTES: String(64 * 1_024 * 1_024),
          },
        }),
      );
      const [first, ...others] = processes as [ClusterProcess, ...ClusterProcess[]];
      await startWhenPlaced(first);
      await Promise.all(others.map((one) => one.start()));
    }, 240_000);

    afterAll(async () => {
      for (const one of processes ?? []) {
        await one.signal("SIGCONT");
        await one.signal("SIGKILL");
      }
      await nats?.close();
      rmSync(directory, { recursive: true, force: true });
    });

    const ready = async ({ url }: ClusterProcess): Promise<Ready | undefined> =>
      fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })
        .then(async (answer) => (answer.ok ? ((await answer.json()) as Ready) : undefined))
        .catch(() => undefined);
    /** Resolves when these processes own all partitions, each at least one. */
    const shared = async (among: readonly ClusterProcess[]): Promise<void> => {
      const sinceMs = performance.now();
      for (;;) {
        if (performance.now() - sinceMs > SHARED_WITHIN_MS)
          throw new Error(`not shared:\n${among.flatMap(({ log }) => log.slice(-20)).join("\n")}`);
        const owns = await Promise.all(among.map(async (one) => (await ready(one))?.owns ?? []));
        if (owns.flat().length >= PARTITIONS && owns.every(({ length }) => length > 0)) return;
        await pause(100);
      }
    };

    test("loses nothing of any partition when owners are killed, stopped in order, and paused", {
      timeout: 540_000,
    }, async () => {
      const receiver = await startReceiver();
      const [a, b, c] = processes as [ClusterProcess, ClusterProcess, ClusterProcess];
      await shared(processes);
      const keys: string[] = [];
      for (let number = 0; number < PARTITIONS; number++) keys.push(await connectSource(a.url, receiver.url));
      const urls = processes.map(({ url }) => url);
      const loads = keys.map((key, number) => startLoad(urls, key, 1, `p${number}-`));
      const acknowledgedMore = async (): Promise<void> => {
        const before = loads.map(({ acknowledged }) => acknowledged.size);
        while (loads.some(({ acknowledged }, i) => acknowledged.size < (before[i] ?? 0) + 25))
          await pause(20);
      };
      await acknowledgedMore();
      await b.signal("SIGKILL");
      await shared([a, c]);
      await acknowledgedMore();
      await b.start();
      await shared(processes);
      expect(await a.signal("SIGTERM")).toBe(0);
      await shared([b, c]);
      await acknowledgedMore();
      await a.start();
      await shared(processes);
      await c.signal("SIGSTOP");
      await shared([a, b]);
      await c.signal("SIGCONT");
      await shared(processes);
      await acknowledgedMore();
      for (const load of loads) await load.stop();
      const missing = (): string[] =>
        loads.flatMap(({ acknowledged }) => [...acknowledged].filter((id) => !receiver.received.has(id)));
      while (missing().length > 0) await pause(100);
      receiver.close();
      expect(Math.max(...receiver.received.values())).toBeLessThanOrEqual(5);
    });
  },
);
