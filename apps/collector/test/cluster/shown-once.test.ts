import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { manualClock } from "../../src/testing.js";
import { ADMIN_TOKEN, api, type ClusterWorld, clusterWorld } from "./cluster-world.js";
import { until } from "./until.js";

interface Source {
  readonly id: string;
  readonly partition: number;
  readonly writeKeys: readonly { readonly key: string }[];
}
interface Listed {
  readonly items: readonly { readonly id: string; readonly total?: number; readonly state?: string }[];
  readonly nextCursor?: string;
}

const PARTITIONS = 2;
const answers = { status: 200 };
/** Notifications: what they say of which incident. */
const told: string[] = [];
const webhook = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const isAlert = request.url === "/alerts";
    if (isAlert) {
      const { event, title } = JSON.parse(Buffer.concat(chunks).toString()) as {
        event: string;
        title: string;
      };
      told.push(`${event}: ${title}`);
    }
    response.writeHead(isAlert ? 200 : answers.status).end();
  });
});
const watchClock = manualClock({ startMs: Date.now() });

const AUTHORIZED = { authorization: `Bearer ${ADMIN_TOKEN}` };

let world: ClusterWorld;
let url: string;
let sources: readonly Source[];
let destinationId: string;

const get = <T>(path: string): Promise<T> => api(url, "GET", path) as Promise<T>;
const post = <T>(path: string, body: object = {}): Promise<T> => api(url, "POST", path, body) as Promise<T>;

async function send(source: Source | undefined, messageId: string): Promise<void> {
  const response = await fetch(`${url}/v1/track`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${source?.writeKeys[0]?.key}:`)}` },
    body: JSON.stringify({ event: "Ordered", userId: "u1", messageId }),
  });
  expect(response.status).toBe(200);
}

beforeAll(async () => {
  webhook.listen(0, "127.0.0.1");
  await once(webhook, "listening");
  world = await clusterWorld();
  const node = await world.start("a", { mode: "dev", watchClock }, { partitions: PARTITIONS });
  url = node.url;
  while (!node.state.hasOwner) await new Promise((resolve) => setTimeout(resolve, 10));
  const made = [
    await post<Source>("/sources", { name: "one" }),
    await post<Source>("/sources", { name: "two" }),
  ];
  sources = made.sort((one, other) => one.partition - other.partition);
  const { id } = await post<{ id: string }>("/destinations", {
    ...{ type: "webhooks", sourceIds: sources.map((source) => source.id), enabled: true },
    settings: { webhooks: [{ url: `http://127.0.0.1:${(webhook.address() as AddressInfo).port}` }] },
  });
  destinationId = id;
}, 60_000);

afterAll(async () => {
  await world[Symbol.asyncDispose]();
  webhook.closeAllConnections();
  webhook.close();
});

describe("what runs in several partitions", () => {
  test("is one operation, with the counts of all, wherever it is shown", async () => {
    expect(sources.map(({ partition }) => partition)).toEqual([0, 1]);
    answers.status = 400;
    for (const [number, source] of sources.entries()) await send(source, `bad-${number}`);
    for (const number of sources.keys()) await get(`/wait?messageId=bad-${number}&state=failed`);
    answers.status = 200;
    const filter = { destinationId, state: "failed" };
    const started = await post<{ id: string }>("/operations", { kind: "retry", filter });
    expect(started.id).toMatch(/^op_[0-9A-Za-z]{16}$/);
    const ended = await until(
      () => get<{ id: string; state: string }>(`/operations/${started.id}`),
      ({ state }) => state === "finished",
    );
    expect(ended).toMatchObject({ id: started.id, total: 2, done: 2, results: { delivered: 2 } });
    const replay = await post<{ id: string; count: number }>("/replays", { filter: { destinationId } });
    expect(replay).toMatchObject({ count: 2, id: expect.stringMatching(/^rpl_[0-9A-Za-z]{16}$/) });
    expect((await get<Listed>("/operations")).items.map(({ id }) => id)).toEqual([replay.id, started.id]);
    const first = await get<Listed>("/operations?limit=1");
    expect(first.items).toMatchObject([{ id: replay.id, total: 2 }]);
    const next = await get<Listed>(`/operations?limit=1&cursor=${first.nextCursor}`);
    expect(next.items).toMatchObject([{ id: started.id, total: 2 }]);
  });

  test("is started once by a request that is repeated with its key", async () => {
    const keyed = async (path: string, body: object, key: string) => {
      const response = await fetch(`${url}/api/v1${path}`, {
        method: "POST",
        headers: {
          ...{ authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
          "idempotency-key": key,
        },
        body: JSON.stringify(body),
      });
      return [response.status, ((await response.json()) as { id?: string }).id] as const;
    };
    const before = (await get<Listed>("/operations")).items.length;
    const filter = { destinationId };
    const [status, id] = await keyed("/operations", { kind: "replay", filter }, "key-1");
    expect([status, id]).toEqual([202, expect.stringMatching(/^rpl_/)]);
    expect(await keyed("/operations", { kind: "replay", filter }, "key-1")).toEqual([202, id]);
    expect((await keyed("/operations", { kind: "retry", filter }, "key-1"))[0]).toBe(409);
    const replay = await keyed("/replays", { filter }, "key-2");
    expect(replay[0]).toBe(201);
    expect(await keyed("/replays", { filter }, "key-2")).toEqual(replay);
    expect((await get<Listed>("/operations")).items).toHaveLength(before + 2);
    const deletion = await keyed("/deletions", { userIds: ["nobody"] }, "key-3");
    expect(deletion[0]).toBe(201);
    expect(await keyed("/deletions", { userIds: ["nobody"] }, "key-3")).toEqual(deletion);
    expect((await get<Listed>("/deletions")).items).toHaveLength(1);
  });

  test("is cancelled by its one id, also where it runs in one partition", async () => {
    const [chosen] = (await get<Listed>("/deliveries?state=delivered")).items;
    const few = await post<{ id: string }>("/operations", { kind: "replay", ids: [chosen?.id] });
    expect(await post(`/operations/${few.id}/cancel`)).toMatchObject({ id: few.id, total: 1 });
    await expect(get("/operations/op_unknown")).rejects.toThrow(/404.*op_unknown/);
  });

  test("is one deletion, and one entry of the audit log", async () => {
    const { id } = await post<{ id: string }>("/deletions", { userIds: ["u1"] });
    expect(id).toMatch(/^del_[0-9A-Za-z]{16}$/);
    const ended = await until(
      () => get<{ status: string }>(`/deletions/${id}`),
      ({ status }) => status === "finished",
    );
    expect(ended).toMatchObject({ id, receipt: { users: [{ messages: 2 }] } });
    expect((await get<Listed>("/deletions")).items[0]).toMatchObject({ id, status: "finished" });
    const { items } = await get<{ items: { action: string; target?: string }[] }>("/audit");
    expect(items.filter(({ target }) => target === id)).toHaveLength(1);
  }, 20_000);

  test("is one incident, and is told once, though one partition alone has it", async () => {
    const target = `http://127.0.0.1:${(webhook.address() as AddressInfo).port}/alerts`;
    await api(url, "PATCH", "/notifications/settings", {
      webhook: { url: target, sharedSecret: "a shared secret" },
    });
    answers.status = 503;
    await send(sources[1], "refused");
    await until(
      () => get<{ health: string }>(`/destinations/${destinationId}/status`),
      ({ health }) => health === "failing" || health === "backing_off",
    );
    const incidents = () =>
      get<{ items: { id: string; state: string; detail: string }[] }>("/notifications/incidents");
    /** Lets checks happen until this is so. */
    const checked = (is: () => Promise<boolean>) =>
      until(async () => {
        await watchClock.advance(30_000);
        return is();
      }, Boolean);
    await watchClock.advance(60 * 60_000);
    await checked(async () => told.length > 0);
    const { items } = await incidents();
    expect(items).toMatchObject([{ state: "open", detail: expect.stringContaining("Seen in partition 1.") }]);
    expect((await get<Listed>("/notifications")).items).toHaveLength(1);
    const metrics = await (await fetch(`${url}/metrics`, { headers: AUTHORIZED })).text();
    expect(metrics.match(/^sluice_incidents_open\S* (\d)$/gm)?.map((line) => line.at(-1))).toEqual([
      "1",
      "0",
    ]);
    expect(world.logged.filter((line) => line.includes('"msg":"incident opened"'))).toHaveLength(1);
    answers.status = 200;
    await api(url, "PATCH", `/destinations/${destinationId}`, { enabled: false });
    await api(url, "PATCH", `/destinations/${destinationId}`, { enabled: true });
    await get("/wait?messageId=refused&state=delivered");
    await checked(async () => (await incidents()).items.every(({ state }) => state === "resolved"));
    await checked(async () => told.length > 1);
    expect(told).toEqual([expect.stringContaining("opened: "), expect.stringContaining("resolved: ")]);
  }, 30_000);

  test("resumes a live stream where it was lost, in every partition", async () => {
    const open = async (lastEventId?: string) => {
      const over = new AbortController();
      const response = await fetch(`${url}/api/v1/live`, {
        headers: {
          authorization: `Bearer ${ADMIN_TOKEN}`,
          ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
        },
        signal: over.signal,
      });
      const chunks = (response.body as unknown as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
      let text = "";
      return {
        /** Reads until all of these have come, and returns the id of the last event. */
        async upTo(...wanted: string[]): Promise<string> {
          while (!wanted.every((one) => text.includes(one)))
            text += Buffer.from((await chunks.next()).value ?? []).toString();
          return [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? "";
        },
        messages: () => [...text.matchAll(/"kind":"message","messageId":"([^"]*)"/g)].map(([, id]) => id),
        close: () => over.abort(),
      };
    };
    const first = await open();
    // Nothing was sent in the second partition yet: its place is known all the same.
    await first.upTo("retry:");
    await send(sources[0], "seen-0");
    const place = await first.upTo('"messageId":"seen-0"');
    first.close();
    expect(place.split("|")).toEqual([expect.stringMatching(/^\d+\//), expect.stringMatching(/^\d+\//)]);
    await send(sources[0], "missed-0");
    await send(sources[1], "missed-1");
    const second = await open(place);
    const last = await second.upTo('"messageId":"missed-0"', '"messageId":"missed-1"');
    second.close();
    expect(second.messages().sort()).toEqual(["missed-0", "missed-1"]);
    expect(last.split("|")).toHaveLength(PARTITIONS);
  }, 20_000);

  test("takes the names of runs from processes of the cluster only", async () => {
    const response = await fetch(`${url}/api/v1/sources`, {
      method: "POST",
      headers: {
        ...{ authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
        "sluice-peer-run": "forgedforgedforg 1",
      },
      body: JSON.stringify({ name: "three" }),
    });
    expect(response.status).toBe(201);
    const { items } = await get<{ items: { id: string; at: string }[] }>("/audit");
    expect(items.find(({ id, at }) => id.includes("forged") || at.startsWith("1970"))).toBeUndefined();
  });

  test("is reset in every partition", async () => {
    for (const source of sources) await send(source, `before-${source.partition}`);
    expect((await get<Listed>("/messages")).items.length).toBeGreaterThan(1);
    await post("/reset");
    expect((await get<Listed>("/messages")).items).toEqual([]);
    expect((await get<Listed>("/sources")).items.length).toBeGreaterThan(1);
    await send(sources[1], "after");
    expect(await get("/wait?messageId=after&state=delivered")).toMatchObject({ messageId: "after" });
  });
});
