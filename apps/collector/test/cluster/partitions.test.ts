import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { api, type ClusterWorld, clusterWorld } from "./cluster-world.js";
import { type NotingWebhook, notingWebhook } from "./noting-webhook.js";

/** More of them take longer: `SLUICE_TEST_PARTITIONS=4`. */
const PARTITIONS = Number(process.env.SLUICE_TEST_PARTITIONS ?? 2);
const NODES = PARTITIONS > 2 ? ["a", "b", "c"] : ["a", "b"];
const OTHER = NODES.at(-1) as string;

interface Source {
  readonly id: string;
  readonly partition: number;
  readonly writeKeys: readonly { readonly key: string }[];
}
interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string;
}
interface Message {
  readonly messageId: string;
  readonly receivedAt: string;
  readonly outcomes: readonly { readonly id: string; readonly state: string }[];
}

let world: ClusterWorld;
let webhook: NotingWebhook<string>;
let sources: readonly Source[];
let destinationId: string;

const urlOf = (node: string): string => world.nodes().get(node)?.url ?? "";
const get = <T>(path: string, node = "a"): Promise<T> => api(urlOf(node), "GET", path) as Promise<T>;

async function send(source: Source, messageId: string, node = "a", how: "header" | "body" = "header") {
  const writeKey = source.writeKeys[0]?.key ?? "";
  const message = { type: "track", event: "Ordered", userId: "u1", messageId };
  const response = await fetch(`${urlOf(node)}/v1/batch`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(how === "header" ? { authorization: `Basic ${btoa(`${writeKey}:`)}` } : {}),
    },
    body: JSON.stringify({ batch: [message], ...(how === "body" ? { writeKey } : {}) }),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
}

/** Resolves when every partition has an owner. */
async function owned(): Promise<void> {
  while (![...world.nodes().values()].some(({ state }) => state.hasOwner))
    await new Promise((resolve) => setTimeout(resolve, 10));
}

beforeAll(async () => {
  world = await clusterWorld();
  webhook = await notingWebhook((body) => [(body as Message).messageId]);
  for (const node of NODES) await world.start(node, {}, { partitions: PARTITIONS });
  await owned();
  const made: Source[] = [];
  for (let number = 0; number < PARTITIONS; number++)
    made.push((await api(urlOf("a"), "POST", "/sources", { name: `source ${number}` })) as Source);
  sources = made;
  const destination = await api(urlOf("b"), "POST", "/destinations", {
    ...{ type: "webhooks", sourceIds: sources.map(({ id }) => id), enabled: true },
    settings: { webhooks: [{ url: webhook.url }], sharedSecret: "a shared secret" },
  });
  destinationId = (destination as { id: string }).id;
}, 60_000);

afterAll(async () => {
  await world[Symbol.asyncDispose]();
  webhook.close();
});

describe("a cluster of several partitions", () => {
  test("gives each partition a source, and takes and delivers the messages of all through any process", async () => {
    // Nobody takes a partition twice, and none is lost while processes join.
    expect(world.logged.filter((line) => line.includes('"how":"lost"'))).toEqual([]);
    expect(sources.map(({ partition }) => partition)).toEqual(
      Array.from({ length: PARTITIONS }, (_, number) => number),
    );
    const ids: string[] = [];
    for (const [number, source] of sources.entries()) {
      for (const node of NODES) {
        const id = `m-${number}-${node}`;
        await send(source, id, node, node === OTHER ? "body" : "header");
        ids.push(id);
      }
    }
    await webhook.noted(ids);
    expect([...webhook.notes].sort()).toEqual([...ids].sort());
  });

  test("lists the messages of all partitions page by page, each once and newest first", async () => {
    const found: Message[] = [];
    let cursor = "";
    do {
      const page = await get<Page<Message>>(`/messages?limit=3${cursor}`, "b");
      found.push(...page.items);
      cursor = page.nextCursor === undefined ? "" : `&cursor=${page.nextCursor}`;
    } while (cursor !== "");
    expect(found).toHaveLength(PARTITIONS * NODES.length);
    expect(new Set(found.map(({ messageId }) => messageId)).size).toBe(found.length);
    const times = found.map(({ receivedAt }) => receivedAt);
    expect(times).toEqual([...times].sort().reverse());
  });

  test("finds a message, its delivery and its state in whichever partition it is", async () => {
    for (const number of sources.keys()) {
      const messageId = `m-${number}-a`;
      const waited = await get<Message>(`/wait?messageId=${messageId}&state=delivered`, OTHER);
      const [outcome] = waited.outcomes;
      expect(waited.messageId).toBe(messageId);
      const delivery = await get<{ id: string; messageId: string }>(`/deliveries/${outcome?.id}`, "b");
      expect(delivery).toMatchObject({ id: outcome?.id, messageId });
      expect(await get<Message>(`/messages/${messageId}`)).toMatchObject({ messageId });
      expect(await get(`/sources/${sources[number]?.id}/usage`)).toMatchObject({
        days: [{ accepted: NODES.length }],
      });
    }
    await expect(get("/messages/unknown")).rejects.toThrow("404");
    await expect(get(`/deliveries/${destinationId}.9-1`)).rejects.toThrow("404");
  });

  test("sums up status, health, activity and rates", async () => {
    const status = await get<{ behind: number; health: string }>(`/destinations/${destinationId}/status`);
    expect(status).toMatchObject({ behind: 0, health: "good", state: "delivering" });
    const health = await get<{ destinations: unknown[]; sources: unknown[] }>("/health", OTHER);
    expect(health).toMatchObject({ health: "good" });
    expect([health.destinations.length, health.sources.length]).toEqual([1, PARTITIONS]);
    const activity = await get<{ sources: { accepted: number }[] }>("/activity");
    expect(activity.sources.map(({ accepted }) => accepted)).toEqual(sources.map(() => NODES.length));
    expect(await get("/rates?span=5m")).toMatchObject({ everyMs: 2_000 });
  });

  test("has a change in force in all partitions when it is answered", async () => {
    await api(urlOf(OTHER), "PATCH", `/destinations/${destinationId}`, { enabled: false });
    for (const [number, source] of sources.entries()) await send(source, `off-${number}`);
    await api(urlOf("a"), "PATCH", `/destinations/${destinationId}`, { enabled: true });
    for (const [number, source] of sources.entries()) await send(source, `on-${number}`, "b");
    await webhook.noted(sources.map((_, number) => `on-${number}`));
    for (const number of sources.keys())
      expect(await get(`/wait?messageId=off-${number}&state=skipped`)).toMatchObject({ state: "accepted" });
    expect(webhook.notes.filter((id) => id.startsWith("off"))).toEqual([]);
  });

  test("retries the failed messages of all partitions with one operation", async () => {
    webhook.status = 400;
    for (const [number, source] of sources.entries()) await send(source, `bad-${number}`);
    for (const number of sources.keys()) await get(`/wait?messageId=bad-${number}&state=failed`);
    const groups = await get<Page<{ count: number; cause: string }>>("/delivery-groups");
    expect(groups.items).toMatchObject([{ count: PARTITIONS, cause: "http_400" }]);
    const failed = await get<Page<{ id: string }>>("/deliveries?state=failed");
    expect(failed.items).toHaveLength(PARTITIONS);
    webhook.status = 200;
    const chosen = failed.items.slice(0, 2).map(({ id }) => id);
    const few = await api(urlOf("b"), "POST", "/operations", { kind: "retry", ids: chosen });
    expect(few).toMatchObject({ kind: "retry" });
    const filter = { destinationId, state: "failed" };
    const all = (await api(urlOf("b"), "POST", "/operations", { kind: "retry", filter })) as { id: string };
    await webhook.noted(sources.map((_, number) => `bad-${number}`));
    expect(await get(`/operations/${all.id}`)).toMatchObject({ id: all.id, kind: "retry" });
    expect((await get<Page<unknown>>("/operations")).items.length).toBeGreaterThan(1);
  });

  test("streams the messages of all partitions", async () => {
    const over = new AbortController();
    const response = await fetch(`${urlOf(OTHER)}/api/v1/live`, {
      headers: { authorization: "Bearer the-admin-token-of-the-cluster" },
      signal: over.signal,
    });
    const wanted = new Set(sources.map((_, number) => `live-${number}`));
    for (const [number, source] of sources.entries()) await send(source, `live-${number}`);
    let text = "";
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      for (const id of wanted) if (text.includes(`"messageId":"${id}"`)) wanted.delete(id);
      if (wanted.size === 0) break;
    }
    over.abort();
    expect(/^id: [^\n]*\|/m.test(text)).toBe(true);
  });

  test("deletes a user in all partitions, and finishes when the last is done", async () => {
    const deletion = (await api(urlOf("a"), "POST", "/deletions", { userIds: ["u1"] })) as { id: string };
    for (;;) {
      const { status, receipt } = await get<{ status: string; receipt?: { users: { messages: number }[] } }>(
        `/deletions/${deletion.id}`,
      );
      if (status === "finished") {
        expect(receipt?.users).toHaveLength(1);
        expect(receipt?.users[0]?.messages).toBeGreaterThanOrEqual(PARTITIONS * (NODES.length + 4));
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect((await get<Page<Message>>("/messages?userId=u1")).items).toEqual([]);
  }, 60_000);

  test("refuses a process with another number of partitions in words", async () => {
    await expect(world.start("d", {}, { partitions: PARTITIONS === 3 ? 4 : 3 })).rejects.toThrow(
      `The cluster "test" has ${PARTITIONS} partitions, and clusterPartitions is ${PARTITIONS === 3 ? 4 : 3}`,
    );
  });

  test("shares the partitions, and goes on when a process is lost", async () => {
    const ownersNow = async (node: string): Promise<readonly (string | undefined)[]> => {
      const { partitions } = await get<{ partitions: { owner?: string; phase?: string }[] }>(
        "/cluster",
        node,
      );
      return partitions.map(({ owner, phase }) => (phase === "leading" ? owner : undefined));
    };
    const isShared = (owners: readonly (string | undefined)[], least: number): boolean =>
      NODES.every((node) => !world.nodes().has(node) || owners.filter((one) => one === node).length >= least);
    while (!isShared(await ownersNow("a"), 1)) await new Promise((resolve) => setTimeout(resolve, 50));
    await world.stop(OTHER);
    for (const [number, source] of sources.entries()) await send(source, `after-${number}`, "a");
    await webhook.noted(sources.map((_, number) => `after-${number}`));
    const each = Math.floor(PARTITIONS / (NODES.length - 1));
    while (!isShared(await ownersNow("a"), each)) await new Promise((resolve) => setTimeout(resolve, 50));
    const text = await (await fetch(`${urlOf("a")}/metrics`)).text();
    expect(text).toMatch(/sluice_ingest_messages_total\{partition="\d"/);
    expect(text.match(/^# TYPE sluice_ingest_messages_total/gm)).toHaveLength(1);
  }, 60_000);
});
