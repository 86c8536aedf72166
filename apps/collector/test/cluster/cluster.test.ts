import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { EngineUnavailable } from "@sluice/event-log";
import { afterEach, describe, expect, test } from "vitest";
import { api, clusterWorld } from "./cluster-world.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Counts how often each message arrived. */
async function receiver() {
  const received = new Map<string, number>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const { messageId } = JSON.parse(Buffer.concat(chunks).toString()) as { messageId: string };
      received.set(messageId, (received.get(messageId) ?? 0) + 1);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

async function connected(url: string, webhook: string): Promise<string> {
  const source = (await api(url, "POST", "/sources", { name: "shop" })) as {
    id: string;
    writeKeys: { key: string }[];
  };
  await api(url, "POST", "/destinations", {
    type: "webhooks",
    sourceIds: [source.id],
    settings: { webhooks: [{ url: webhook }] },
    enabled: true,
  });
  return source.writeKeys[0]?.key as string;
}

/** Sends a batch of messages to any process. Resolves with the status. */
async function send(url: string, writeKey: string, ids: readonly string[]): Promise<number> {
  const response = await fetch(`${url}/v1/batch`, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}` },
    body: JSON.stringify({
      batch: ids.map((messageId) => ({ type: "track", event: "Ordered", userId: "u1", messageId })),
    }),
  });
  await response.arrayBuffer();
  return response.status;
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe("a process that starts before its engine", () => {
  test("listens, says that it is not ready, and joins when the engine is there", async () => {
    await using world = await clusterWorld();
    const port = await freePort();
    const readyz = async () => {
      const response = await fetch(`http://127.0.0.1:${port}/readyz`);
      return { status: response.status, body: await response.json() };
    };
    let attempts = 0;
    const starting = world.start(
      "a",
      { port },
      {
        async openEngine() {
          attempts += 1;
          if (attempts === 1) throw new EngineUnavailable("nobody listens at nats://10.0.0.1:4222.");
          if (attempts === 2) {
            expect(await readyz()).toEqual({
              status: 503,
              body: {
                ...{ status: "not ready", reason: "the cluster's engine cannot be reached" },
                ...{ node: "a", role: "starting" },
              },
            });
          }
          return world.engines.engineFor("a");
        },
      },
    );
    const { url } = await starting;
    await world.owner();
    expect(await readyz()).toMatchObject({ status: 200, body: { status: "ready" } });
    expect(url).toBe(`http://127.0.0.1:${port}`);
    expect(world.logged.filter((line) => line.includes("waits for the cluster's engine"))).toEqual([
      expect.stringContaining("nobody listens at nats://10.0.0.1:4222."),
    ]);
  });

  test("waits, too, while its engine is there but does not answer yet", async () => {
    await using world = await clusterWorld();
    const engine = world.engines.engineFor("a");
    const { log, leases, snapshots } = engine;
    let asked = 0;
    const get = (key: string) => {
      asked += 1;
      return asked === 1 ? Promise.reject(new EngineUnavailable("timeout")) : leases.get(key);
    };
    const openEngine = async () => ({
      ...{ log, snapshots, leases: { ...leases, get } },
      health: () => engine.health(),
      onHealth: (listener: () => void) => engine.onHealth(listener),
      close: () => engine.close(),
    });
    await world.start("a", {}, { openEngine });
    await world.owner();
    expect(world.logged.filter((line) => line.includes("waits for the cluster's engine"))).toEqual([
      expect.stringContaining("timeout"),
    ]);
  });

  test("ends with the reason when it has waited for long enough, and listens no more", async () => {
    await using world = await clusterWorld();
    const port = await freePort();
    const openEngine = async () => {
      throw new EngineUnavailable("nobody listens.");
    };
    await expect(world.start("a", { port }, { openEngine, waitMs: 0 })).rejects.toThrow("nobody listens.");
    await expect(fetch(`http://127.0.0.1:${port}/readyz`)).rejects.toThrow();
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe("a cluster of three processes", () => {
  test("any process takes any request, and an orderly stop loses and doubles nothing", async () => {
    await using world = await clusterWorld();
    const { received, url: webhook } = await receiver();
    const a = await world.start("a");
    await world.owner(["a"]);
    const [b, c] = [await world.start("b"), await world.start("c")];
    const writeKey = await connected(b.url, webhook);
    expect(await send(c.url, writeKey, ["m1"])).toBe(200);
    expect(await send(b.url, writeKey, ["m1", "m2"])).toBe(200);
    await until(() => received.size === 2);

    const view = (await api(c.url, "GET", "/cluster")) as {
      answeredBy: string;
      owner: object;
      members: { node: string; role: string }[];
    };
    expect(view.answeredBy).toBe("a");
    expect(view.owner).toMatchObject({ node: "a", phase: "leading" });
    expect(view.members.map(({ node, role }) => `${node} ${role}`)).toEqual([
      "a owner",
      "b follower",
      "c follower",
    ]);
    expect(await fetch(`${b.url}/readyz`).then((it) => it.json())).toMatchObject({
      ...{ status: "ready", role: "follower", node: "b", owner: "a" },
    });
    expect(await fetch(`${a.url}/readyz`).then((it) => it.json())).toMatchObject({ role: "owner" });

    // Requests while the owner stops wait for the next one.
    const stopped = world.stop("a");
    const statuses = await Promise.all(
      Array.from({ length: 20 }, (_, i) => send(i % 2 === 0 ? b.url : c.url, writeKey, [`s${i}`])),
    );
    await stopped;
    expect(new Set(statuses)).toEqual(new Set([200]));
    await world.owner(["b", "c"]);
    expect(await send(b.url, writeKey, ["m1", "m3"])).toBe(200);
    await until(() => received.size === 23);
    expect([...received.values()].every((times) => times === 1)).toBe(true);
  });

  test("an owner that is cut off from the engine is replaced, and acknowledges nothing any more", async () => {
    await using world = await clusterWorld();
    const { received, url: webhook } = await receiver();
    for (const node of ["a", "b", "c"]) await world.start(node);
    const first = await world.owner();
    const others = ["a", "b", "c"].filter((node) => node !== first.node);
    const writeKey = await connected(first.url, webhook);
    expect(await send(first.url, writeKey, ["m1"])).toBe(200);
    world.engines.faultsOf(first.node).cut();
    const second = await world.owner(others);
    expect(await send(second.url, writeKey, ["m2"])).toBe(200);
    expect(await send(first.url, writeKey, ["m3"])).toBe(503);
    world.engines.faultsOf(first.node).heal();
    await until(() => !(world.nodes().get(first.node)?.state.isOwner ?? true));
    await until(async () => (await send(first.url, writeKey, ["m4"])) === 200);
    await until(() => ["m1", "m2", "m4"].every((id) => received.has(id)));
    const metrics = await fetch(`${second.url}/metrics`).then((it) => it.text());
    expect(metrics).toContain("sluice_cluster_owner 1");
    expect(metrics).toContain("sluice_cluster_takeovers_total 1");
    const follower = await fetch(`${first.url}/metrics`).then((it) => it.text());
    expect(follower).toContain("sluice_cluster_owner 0");
    expect(follower).toContain('sluice_cluster_step_downs_total{how="lost"} 1');
    expect(follower).toMatch(/sluice_cluster_passed_requests_total\{result="answered"\} [1-9]/);
  });

  test("drains the owner, keeps the last process, and forgets nothing over a restart of all", async () => {
    await using world = await clusterWorld();
    const { received, url: webhook } = await receiver();
    const a = await world.start("a");
    await world.owner(["a"]);
    await world.start("b");
    const writeKey = await connected(a.url, webhook);
    await until(async () => {
      const { members } = (await api(a.url, "GET", "/cluster")) as { members: { isReady: boolean }[] };
      return members.filter(({ isReady }) => isReady).length === 2;
    });
    await api(a.url, "POST", "/cluster/members/a/drain");
    await world.owner(["b"]);
    await expect(api(a.url, "POST", "/cluster/members/b/drain")).rejects.toThrow("409");
    await expect(api(a.url, "POST", "/cluster/members/nobody/drain")).rejects.toThrow("404");
    expect(await send(a.url, writeKey, ["m1"])).toBe(200);
    await api(a.url, "DELETE", "/cluster/members/a/drain");
    await world.stop("a");
    await world.stop("b");
    const again = await world.start("a");
    await world.owner(["a"]);
    expect(await send(again.url, writeKey, ["m1", "m2"])).toBe(200);
    await until(() => received.size === 2);
  });
});
