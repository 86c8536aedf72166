import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startCollector } from "../../apps/collector/src/collector.ts";
import { createLogger } from "../../apps/collector/src/process/telemetry/logger.ts";
import { cli } from "../../packages/cli/test/support/cli.js";
import { type NatsCluster, startNatsCluster } from "../nats/nats-cluster.ts";
import { findNatsServer } from "../nats/nats-server.ts";
import { ADMIN_TOKEN, api, clusterProcess, connectSource, ownerOf, pause } from "./cluster-processes.ts";

const server = findNatsServer();
if (server.kind === "missing" && process.env.CI !== undefined) throw new Error(server.reason);

const ROOT = resolve(import.meta.dirname, "../..");
const LOADER = join(ROOT, "scripts/source-loader.mjs");
const RUN = "const { main } = await import(process.env.SLUICE_MAIN); await main();";
const SECRET_KEY = Buffer.alloc(32, 9).toString("base64");

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Answers by the event of a message: 200, or a refusal that ends the delivery, or one that is tried again. */
async function startReceiver() {
  const statusOf: Readonly<Record<string, number>> = { Refused: 400, Waiting: 503 };
  const listener = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const { event = "" } = JSON.parse(Buffer.concat(chunks).toString()) as { event?: string };
      response.writeHead(statusOf[event] ?? 200).end();
    });
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  return { listener, url: `http://127.0.0.1:${(listener.address() as { port: number }).port}/` };
}

describe.skipIf(server.kind === "missing")("sluice migrate on JetStream", () => {
  const directory = mkdtempSync(join(tmpdir(), "sluice-migrate-"));
  const [alone, back] = [join(directory, "alone"), join(directory, "back")];
  const children = new Set<ChildProcess>();
  let nats: NatsCluster;
  let receiver: Awaited<ReturnType<typeof startReceiver>>;

  beforeAll(async () => {
    mkdirSync(join(directory, "nats"));
    nats = await startNatsCluster({ directory: join(directory, "nats"), nodes: 1 });
    receiver = await startReceiver();
  });

  afterAll(async () => {
    for (const child of children) child.kill("SIGKILL");
    receiver?.listener.closeAllConnections();
    receiver?.listener.close();
    await nats?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const clusterEnv = (): Record<string, string> => ({
    SLUICE_SECRET_KEY: SECRET_KEY,
    SLUICE_CLUSTER_REPLICAS: "1",
    SLUICE_CLUSTER_LEASE_MS: "1000",
    SLUICE_CLUSTER_MONITORS: nats.monitors.join(","),
    SLUICE_CLUSTER_MAX_LOG_BYTES: String(64 * 1_024 * 1_024),
  });

  async function migrate(from: string, to: string, env = {}): Promise<Ended> {
    const run = cli(["migrate", "--from", from, "--to", to], {
      env: { ...clusterEnv(), ...env },
      columns: 200,
    });
    return { code: await run.code, out: run.out(), err: run.err() };
  }

  /** Runs the command in a process of its own, and kills it when it has printed this on stderr. */
  async function killedAt(printed: string, from: string, to: string): Promise<Ended> {
    const args = ["--import", LOADER, "--input-type=module", "-e", RUN, "sluice"];
    const child = spawn(process.execPath, [...args, "migrate", "--from", from, "--to", to], {
      cwd: ROOT,
      env: {
        ...{ ...process.env, ...clusterEnv() },
        SLUICE_MAIN: join(ROOT, "packages/cli/src/main.ts"),
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.add(child);
    let [out, err] = ["", ""];
    child.stdout.on("data", (part) => {
      out += part;
    });
    child.stderr.on("data", (part) => {
      err += part;
      if (err.includes(printed)) child.kill("SIGKILL");
    });
    const [code] = (await once(child, "close")) as [number | null];
    children.delete(child);
    return { code, out, err };
  }

  const startAlone = (dataDirectory: string) =>
    startCollector({
      ...{ mode: "production", host: "127.0.0.1", port: 0, dataDirectory, adminToken: ADMIN_TOKEN },
      ...{ secretKey: SECRET_KEY, allowTargets: ["127.0.0.0/8"] },
      logger: createLogger({ level: "error", write: () => {} }),
    } as Parameters<typeof startCollector>[0]);

  async function send(url: string, writeKey: string, events: readonly string[]): Promise<void> {
    const batch = events.map((event) => ({ type: "track", event, userId: "u1", messageId: `m-${event}` }));
    const response = await fetch(`${url}/v1/batch`, {
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}` },
      body: JSON.stringify({ batch }),
    });
    expect(response.status).toBe(200);
  }

  async function until(isTrue: () => Promise<boolean>): Promise<void> {
    while (!(await isTrue().catch(() => false))) await pause(50);
  }

  /** The states of deliveries by event, without those of audiences. */
  async function states(url: string): Promise<Record<string, string>> {
    const all = await Promise.all(
      ["delivered", "failed", "pending"].map((state) =>
        api<{ items: { event?: string; state: string }[] }>(url, "GET", `/deliveries?state=${state}`),
      ),
    );
    return Object.fromEntries(
      all.flatMap(({ items }) => items).flatMap(({ event, state }) => (event ? [[event, state]] : [])),
    );
  }

  async function expectEverything(url: string, audienceId: string, more = {}): Promise<void> {
    expect(await states(url)).toEqual({ Kept: "delivered", Refused: "failed", Waiting: "pending", ...more });
    expect(await api(url, "GET", `/audiences/${audienceId}/why?userId=u1`)).toMatchObject({ member: true });
  }

  test("moves a collector into a cluster and back, though it is killed on the way", {
    timeout: 180_000,
  }, async () => {
    const first = await startAlone(alone);
    const writeKey = await connectSource(first.url, receiver.url);
    await api(first.url, "POST", "/destinations", {
      ...{ type: "webhooks", sourceIds: [], enabled: false },
      settings: { webhooks: [{ url: receiver.url }], sharedSecret: "a secret of the receiver" },
    });
    const { id } = await api<{ id: string }>(first.url, "POST", "/audiences", {
      name: "Keepers",
      condition: { kind: "event", event: "Kept", times: { atLeast: 1 } },
      destinationIds: [],
    });
    await send(first.url, writeKey, ["Kept", "Refused", "Waiting"]);
    await until(async () => Object.keys(await states(first.url)).length === 3);
    await until(
      async () => (await api<{ member: boolean }>(first.url, "GET", `/audiences/${id}/why?userId=u1`)).member,
    );
    await expectEverything(first.url, id);
    const servers = nats.urls.join(",");
    const inUse = await migrate(alone, servers);
    expect([inUse.code, inUse.err]).toEqual([1, expect.stringContaining("Stop the collector that uses it")]);
    await first.close(2_000);

    const otherKey = { SLUICE_SECRET_KEY: Buffer.alloc(32, 1).toString("base64") };
    expect((await migrate(alone, servers, otherKey)).err).toContain("stored with another secret key");
    const killed = await killedAt("uploading", alone, servers);
    expect([killed.code, killed.out]).toEqual([null, ""]);
    const moved = await migrate(alone, servers);
    expect(moved).toMatchObject({ code: 0, out: expect.stringMatching(/^retries +1 +1 .*equal$/m) });
    expect(moved.out).not.toContain("DIFFERENT");

    const member = clusterProcess({
      ...{ node: "a", port: await freePort(), directory, servers: nats.urls, monitors: nats.monitors },
      env: clusterEnv(),
    });
    await member.start();
    try {
      await ownerOf([member]);
      await expectEverything(member.url, id);
      await send(member.url, writeKey, ["Kept", "Later"]);
      await until(async () => (await states(member.url)).Later === "delivered");
      const owned = await migrate(servers, back);
      expect([owned.code, owned.err]).toEqual([1, expect.stringContaining('collector "a"')]);
    } finally {
      await member.signal("SIGTERM");
    }

    expect((await killedAt("reading the log", servers, back)).out).toBe("");
    const returned = await migrate(servers, back);
    expect(returned).toMatchObject({ code: 0, out: expect.stringMatching(/^messages +4 +4 .*equal$/m) });
    const last = await startAlone(back);
    await expectEverything(last.url, id, { Later: "delivered" });
    await last.close(2_000);
  });
});

async function freePort(): Promise<number> {
  const one = createServer().listen(0, "127.0.0.1");
  await once(one, "listening");
  const { port } = one.address() as { port: number };
  one.close();
  await once(one, "close");
  return port;
}
