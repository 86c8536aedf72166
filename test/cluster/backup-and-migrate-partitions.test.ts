import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cli } from "../../packages/cli/test/support/cli.js";
import { type NatsCluster, startNatsCluster } from "../nats/nats-cluster.ts";
import { findNatsServer } from "../nats/nats-server.ts";
import {
  ADMIN_TOKEN,
  api,
  type ClusterProcess,
  clusterProcess,
  ownerOf,
  pause,
} from "./cluster-processes.ts";

const server = findNatsServer();
if (server.kind === "missing" && process.env.CI !== undefined) throw new Error(server.reason);

interface Source {
  readonly partition: number;
  readonly writeKeys: readonly { readonly key: string }[];
}
interface Listed {
  readonly items: readonly { readonly messageId: string }[];
}

async function freePort(): Promise<number> {
  const one = createServer().listen(0, "127.0.0.1");
  await once(one, "listening");
  const { port } = one.address() as { port: number };
  one.close();
  await once(one, "close");
  return port;
}

async function send(url: string, source: Source | undefined, messageId: string): Promise<void> {
  const response = await fetch(`${url}/v1/track`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${source?.writeKeys[0]?.key}:`)}` },
    body: JSON.stringify({ event: "Ordered", userId: "u1", messageId }),
  });
  expect(response.status).toBe(200);
}

// The logs and the record of the partitions are real ones here; everything else is tested in memory.
describe.skipIf(server.kind === "missing")("a cluster of two partitions on JetStream", () => {
  const directory = mkdtempSync(join(tmpdir(), "sluice-partitions-"));
  const [backups, restored, out] = ["backups", "restored", "out"].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  const running = new Set<ClusterProcess>();
  let nats: NatsCluster;

  beforeAll(async () => {
    mkdirSync(join(directory, "nats"));
    nats = await startNatsCluster({ directory: join(directory, "nats"), nodes: 1 });
  }, 60_000);

  afterAll(async () => {
    for (const one of running) await one.signal("SIGKILL");
    await nats?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const clusterEnv = (name: string): Record<string, string> => ({
    SLUICE_SECRET_KEY: Buffer.alloc(32, 9).toString("base64"),
    SLUICE_CLUSTER_NAME: name,
    SLUICE_CLUSTER_PARTITIONS: "2",
    SLUICE_CLUSTER_REPLICAS: "1",
    SLUICE_CLUSTER_LEASE_MS: "1000",
    SLUICE_CLUSTER_MONITORS: nats.monitors.join(","),
    SLUICE_CLUSTER_MAX_LOG_BYTES: String(64 * 1_024 * 1_024),
  });

  async function start(name: string): Promise<ClusterProcess> {
    const one = clusterProcess({
      ...{ node: `node-of-${name}`, port: await freePort(), directory },
      ...{ servers: nats.urls, monitors: nats.monitors, env: clusterEnv(name) },
    });
    running.add(one);
    await one.start();
    await ownerOf([one]);
    for (;;) {
      const { partitions } = await api<{ partitions: { phase?: string }[] }>(one.url, "GET", "/cluster");
      if (partitions.every(({ phase }) => phase === "leading")) return one;
      await pause(50);
    }
  }

  async function sluice(args: readonly string[], name: string): Promise<string> {
    const run = cli([...args], { env: clusterEnv(name), columns: 200 });
    expect([await run.code, run.err()]).toEqual([0, expect.any(String)]);
    return run.out();
  }

  test("is backed up, restored into another cluster, and moved out", { timeout: 120_000 }, async () => {
    const first = await start("one");
    const sources = [
      await api<Source>(first.url, "POST", "/sources", { name: "one" }),
      await api<Source>(first.url, "POST", "/sources", { name: "two" }),
    ].sort((one, other) => one.partition - other.partition);
    for (const [number, source] of sources.entries())
      for (let index = 0; index <= number; index++) await send(first.url, source, `m-${number}-${index}`);
    const connection = ["--url", first.url, "--token", ADMIN_TOKEN];
    expect(await sluice(["backup", backups, ...connection], "one")).toContain("3 messages in 2 partitions");
    await first.signal("SIGTERM");
    const servers = nats.urls.join(",");

    expect(await sluice(["restore", backups, "--data-dir", restored], "two")).toContain(
      `Move them into a new cluster of 2 partitions: sluice migrate --from ${restored}`,
    );
    const moved = await sluice(["migrate", "--from", restored, "--to", servers], "two");
    expect(moved).toMatch(/^0 +messages +1 +1 .*equal$/m);
    expect(moved).toMatch(/^1 +messages +2 +2 .*equal$/m);
    const second = await start("two");
    const { items } = await api<Listed>(second.url, "GET", "/messages");
    expect(items.map(({ messageId }) => messageId).sort()).toEqual(["m-0-0", "m-1-0", "m-1-1"]);
    await send(second.url, sources[1], "later");
    await second.signal("SIGTERM");

    const left = await sluice(["migrate", "--from", servers, "--to", out], "two");
    expect(left).toMatch(/^1 +messages +3 +3 .*equal$/m);
    expect(left).not.toContain("DIFFERENT");
  });
});
