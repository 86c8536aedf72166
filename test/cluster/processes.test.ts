import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../chaos/until.ts";
import { type NatsCluster, startNatsCluster } from "../nats/nats-cluster.ts";
import { findNatsServer } from "../nats/nats-server.ts";
import {
  type ClusterProcess,
  clusterProcess,
  connectSource,
  freePorts,
  ownerOf,
  readinessOf,
  STEP_MS,
  startLoad,
  startReceiver,
  startWhenPlaced,
} from "./cluster-processes.ts";

const server = findNatsServer();
if (server.kind === "missing" && process.env.CI !== undefined) throw new Error(server.reason);

/** Three collectors and three NATS servers, each in a process of its own, under load. */
describe.skipIf(server.kind === "missing")("a cluster of processes on JetStream", () => {
  const directory = mkdtempSync(join(tmpdir(), "sluice-cluster-"));
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
      }),
    );
    const [first, ...others] = processes as [ClusterProcess, ...ClusterProcess[]];
    await startWhenPlaced(first);
    await Promise.all(others.map((one) => one.start()));
  });

  afterAll(async () => {
    for (const one of processes ?? []) {
      await one.signal("SIGCONT");
      await one.signal("SIGKILL");
    }
    await nats?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  test("loses nothing when the owner is killed, stopped in order, and paused for longer than its lease", {
    timeout: 180_000,
  }, async () => {
    const receiver = await startReceiver();
    const named = (node: string): ClusterProcess =>
      processes.find((one) => one.node === node) as ClusterProcess;
    const others = (node: string): ClusterProcess[] => processes.filter((one) => one.node !== node);
    const [first] = processes as [ClusterProcess];
    const writeKey = await connectSource(first.url, receiver.url);
    const load = startLoad(
      processes.map(({ url }) => url),
      writeKey,
    );
    const acknowledgedMore = async (): Promise<void> => {
      const before = load.acknowledged.size;
      const isMore = (): boolean => load.acknowledged.size >= before + 50;
      await until("50 more messages are acknowledged", isMore, STEP_MS).catch((error: unknown) => {
        throw new Error(`${String(error)}: ${JSON.stringify([...load.answers])}`, { cause: error });
      });
    };
    await acknowledgedMore();

    const killed = await ownerOf(processes);
    await named(killed).signal("SIGKILL");
    const second = await ownerOf(others(killed), killed);
    await acknowledgedMore();
    await named(killed).start();

    expect(await named(second).signal("SIGTERM")).toBe(0);
    const third = await ownerOf(others(second), second);
    await acknowledgedMore();
    await named(second).start();

    await named(third).signal("SIGSTOP");
    await ownerOf(others(third), third);
    await named(third).signal("SIGCONT");
    await acknowledgedMore();
    // The former owner notices, and passes requests on again.
    const isFollower = (): Promise<boolean> =>
      readinessOf(named(third)).then(
        ({ role }) => role === "follower",
        () => false,
      );
    await until(`${third} follows another owner`, isFollower, STEP_MS);
    await acknowledgedMore();

    await load.stop();
    const missing = (): string[] => [...load.acknowledged].filter((id) => !receiver.received.has(id));
    await until("all that was acknowledged is delivered", () => missing().length === 0, STEP_MS);
    receiver.close();
    // Each hand-over repeats at most what was under way.
    expect(Math.max(...receiver.received.values())).toBeLessThanOrEqual(4);
  });
});
