import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Origin, peerHeaders, peerToken } from "../../src/cluster/front/peer.js";
import { CollectorError } from "../../src/errors.js";
import { api, type ClusterWorld, clusterWorld, SECRET_KEY } from "./cluster-world.js";
import { type NotingWebhook, notingWebhook } from "./noting-webhook.js";

const PARTITIONS = 3;
/** A process that is cut off holds requests for 8 s; an SDK that gave up would repeat them elsewhere. */
const CLIENT_TIMEOUT_MS = 3_000;

interface Source {
  readonly id: string;
  readonly partition: number;
  readonly partitions?: number;
  readonly writeKeys: readonly { readonly key: string }[];
}
interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string;
}
interface Message {
  readonly type?: string;
  readonly messageId: string;
  readonly userId?: string;
}

let world: ClusterWorld;
let webhook: NotingWebhook<string>;
/** The messages that it got, in their order. */
let received: Message[];
let source: Source;

const urlOf = (node: string): string => world.nodes().get(node)?.url ?? "";
const get = <T>(path: string, node = "a"): Promise<T> => api(urlOf(node), "GET", path) as Promise<T>;
const keyOf = ({ writeKeys }: Source): string => writeKeys[0]?.key ?? "";
const basic = (key: string) => ({ authorization: `Basic ${btoa(`${key}:`)}` });
const track = (userId: string, messageId: string, more: object = {}) => ({
  ...{ type: "track", event: "Moved", userId, messageId },
  ...more,
});

async function post(
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = basic(keyOf(source)),
  node = "a",
) {
  const signal = AbortSignal.timeout(CLIENT_TIMEOUT_MS);
  const response = await fetch(urlOf(node) + path, { method: "POST", headers, body, signal });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: JSON.parse(text) as unknown };
}

beforeAll(async () => {
  world = await clusterWorld();
  received = [];
  webhook = await notingWebhook((body) => {
    received.push(body as Message);
    return [(body as Message).messageId];
  });
  for (const node of ["a", "b"]) await world.start(node, {}, { partitions: PARTITIONS, leaseMs: 900 });
  while (![...world.nodes().values()].some(({ state }) => state.hasOwner))
    await new Promise((resolve) => setTimeout(resolve, 10));
  source = (await api(urlOf("b"), "POST", "/sources", { name: "busy", partitions: 3 })) as Source;
  await api(urlOf("a"), "POST", "/destinations", {
    ...{ type: "webhooks", sourceIds: [source.id], enabled: true },
    settings: { webhooks: [{ url: webhook.url }], sharedSecret: "a shared secret", order: "user" },
  });
}, 60_000);

afterAll(async () => {
  await world[Symbol.asyncDispose]();
  webhook.close();
});

describe("a source that is spread over several partitions", () => {
  test("is made so, counts in each of them, and is refused where the cluster has fewer", async () => {
    expect(source).toMatchObject({ partition: 0, partitions: 3 });
    const other = (await api(urlOf("a"), "POST", "/sources", { name: "two", partitions: 2 })) as Source;
    expect(other).toMatchObject({ partition: 0, partitions: 2 });
    const whole = (await api(urlOf("a"), "POST", "/sources", { name: "one", partitions: 1 })) as Source;
    expect([whole.partition, whole.partitions]).toEqual([2, undefined]);
    await expect(api(urlOf("a"), "POST", "/sources", { name: "x", partitions: 4 })).rejects.toThrow(
      /400.*the cluster has 3 partitions, and a source cannot be spread over 4/,
    );
    await expect(api(urlOf("a"), "PATCH", `/sources/${source.id}`, { partitions: 2 })).rejects.toThrow(
      /400.*partitions/,
    );
    for (const { id } of [other, whole]) await api(urlOf("a"), "DELETE", `/sources/${id}`);
  });

  test("answers to a batch as one collector does, through any process", async () => {
    const batch = Array.from({ length: 20 }, (_, index) => track(`u-${index}`, `m-${index}`));
    const odd = [batch[0], 7, { ...track("u-1", "bad"), event: 5 }, ...batch.slice(1)];
    const body = JSON.stringify({ batch: odd, sentAt: "2026-11-23T12:00:00Z", context: { app: "x" } });
    const first = await post("/v1/batch", body);
    expect(first).toMatchObject({ status: 200, body: { success: true, accepted: 20 } });
    expect((first.body as { rejected: { index: number; messageId?: string }[] }).rejected).toMatchObject([
      { index: 1 },
      { index: 2, messageId: "bad" },
    ]);
    const zipped = gzipSync(JSON.stringify({ batch }));
    const headers = { ...basic(keyOf(source)), "content-encoding": "gzip" };
    expect(await post("/v1/batch", zipped, headers, "b")).toMatchObject({
      ...{ status: 200, body: { success: true, accepted: 20, duplicates: 20 } },
    });
    await webhook.noted(batch.map(({ messageId }) => messageId));
    expect(received).toHaveLength(20);
    expect(received[3]).toMatchObject({ context: { app: "x" }, sentAt: expect.any(String) });
    let metrics = "";
    for (const node of ["a", "b"]) metrics += await (await fetch(`${urlOf(node)}/metrics`)).text();
    for (let partition = 0; partition < PARTITIONS; partition++)
      expect(metrics).toMatch(
        new RegExp(`sluice_ingest_messages_total\\{partition="${partition}",[^}]*\\} [1-9]`),
      );
  });

  test("takes what names its key in the body, single messages, beacons and pixels", async () => {
    const writeKey = keyOf(source);
    const messages = Array.from({ length: 6 }, (_, index) => track(`k-${index}`, `k-${index}`));
    const [first, ...rest] = messages;
    const named = JSON.stringify({ batch: [...rest, { ...first, writeKey }] });
    expect(await post("/v1/batch", named, {}, "b")).toMatchObject({ status: 200, body: { accepted: 6 } });
    expect(await post("/v1/b", JSON.stringify({ writeKey, batch: messages }), {})).toMatchObject({
      ...{ status: 200, body: { accepted: 6, duplicates: 6 } },
    });
    const single = { anonymousId: "an-1", event: "Moved", messageId: "single", writeKey };
    expect(await post("/v1/t", JSON.stringify(single), {})).toMatchObject({ status: 200 });
    const beacon = JSON.stringify({ batch: [track("b-1", "beacon-1"), track("b-2", "beacon-2")] });
    expect(await post(`/beacon/v1/batch?writeKey=${writeKey}`, beacon, {})).toMatchObject({ status: 200 });
    const data = Buffer.from(JSON.stringify({ ...single, messageId: "pixel" })).toString("base64url");
    const pixel = await fetch(`${urlOf("b")}/v1/pixel/track?data=${data}`);
    expect([pixel.status, pixel.headers.get("content-type")]).toEqual([200, "image/gif"]);
    await webhook.noted(["k-0", "k-5", "single", "beacon-1", "beacon-2", "pixel"]);
  });

  test("refuses as one collector does, and stores nothing of it", async () => {
    const good = JSON.stringify(track("r-1", "refused-1"));
    const other = JSON.stringify(track("r-2", "refused-2"));
    const cases: [status: number, code: string, body: string, headers?: Record<string, string>][] = [
      [400, "malformed_json", `{"batch":[${good},${other},{"userId":"x"]}`],
      [400, "invalid_message", `{"items":[${good},${other}]}`],
      [400, "invalid_message", `{"deliver":1,"batch":[${good},${other}]}`],
      [401, "invalid_write_key", `{"writeKey":"another","batch":[${good},${other}]}`],
      [413, "payload_too_large", `{"batch":[${good},${other}],"x":"${"x".repeat(600_000)}"}`],
      [415, "unsupported_encoding", good, { ...basic(keyOf(source)), "content-encoding": "zstd" }],
    ];
    for (const [status, code, body, headers] of cases)
      expect(await post("/v1/batch", body, headers)).toMatchObject({
        ...{ status, body: { success: false, code, requestId: expect.any(String) } },
      });
    expect(await post("/v1/track", '{"event":"x"}')).toMatchObject({
      ...{ status: 400, body: { code: "invalid_message" } },
    });
    expect(await post("/v1/batch", '{"batch":[]}')).toMatchObject({ status: 200, body: { accepted: 0 } });
    await expect(get("/messages/refused-1")).rejects.toThrow("404");
    // As one collector lists them: those that came with a valid key in their header.
    type Refused = { readonly issues: readonly { readonly code: string }[] };
    const listed = await get<Page<Refused>>(`/rejected-messages?sourceId=${source.id}`);
    const codes = cases.map(([, code]) => code);
    expect(listed.items.flatMap(({ issues }) => issues.map(({ code }) => code))).toEqual(
      expect.arrayContaining(codes),
    );
  });

  test("is not served for a process that does not know it, nor for a client that says it is one", async () => {
    const token = peerToken(Buffer.from(SECRET_KEY, "base64"), "test");
    const body = JSON.stringify({ batch: [track("s-1", "stale-1"), track("s-2", "stale-2")] });
    const asked = (origin: Partial<Origin>, given = token) => {
      const raw = peerHeaders({ client: "203.0.113.7", listener: "public", ...origin }, given);
      const peer = Object.fromEntries(
        raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ""]] : [])),
      );
      return post("/v1/batch", body, { ...basic(keyOf(source)), ...peer }, ownerOf0);
    };
    const ownerOf0 = (await world.owner()).node;
    expect(await asked({})).toMatchObject({ status: 503, body: { code: "no_owner" } });
    await expect(get("/messages/stale-1")).rejects.toThrow("404");
    expect(await asked({ refused: new CollectorError("payload_too_large") }, "forged")).toMatchObject({
      ...{ status: 200, body: { accepted: 2 } },
    });
    await webhook.noted(["stale-1", "stale-2"]);
  });

  test("shows counts, names and messages of all its partitions as one", async () => {
    // The names are counted a moment later.
    let names = { items: [{ name: "", count: 0 }], names: 0, behind: 1 };
    while (names.behind > 0 || names.items[0]?.count !== 32) {
      names = await get(`/sources/${source.id}/events`, "b");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(names).toMatchObject({ names: 1, items: [{ type: "track", name: "Moved", count: 32 }] });
    const usage = await get<{ days: { accepted: number }[] }>(`/sources/${source.id}/usage`);
    expect(usage.days.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(32);
    const { items } = await get<Page<Message>>(`/messages?sourceId=${source.id}&limit=200`, "b");
    expect(new Set(items.map(({ messageId }) => messageId)).size).toBe(32);
    expect((await get<Page<Message>>("/messages?userId=u-7")).items).toHaveLength(1);
    expect(await get("/messages/single")).toMatchObject({ messageId: "single", state: "accepted" });
    await expect(get(`/sources/${source.id}/events?cursor=x`)).rejects.toThrow("400");
    const destinationId = (await get<Page<{ id: string }>>("/destinations")).items[0]?.id;
    const replay = await api(urlOf("a"), "POST", "/replays", { filter: { destinationId }, dryRun: true });
    expect(replay).toMatchObject({ count: 32 });
  });

  test("tells receivers of a deleted user once, though its devices are in several partitions", async () => {
    const devices = Array.from({ length: 8 }, (_, index) => `dev-${index}`);
    const visits = devices.map((anonymousId) => track("", `visit-${anonymousId}`, { anonymousId }));
    const joins = devices.map((anonymousId) => ({
      ...{ type: "identify", userId: "joined-user", anonymousId, messageId: `join-${anonymousId}` },
    }));
    expect(await post("/v1/batch", JSON.stringify({ batch: [...joins, ...visits] }))).toMatchObject({
      ...{ status: 200, body: { accepted: 16 } },
    });
    await webhook.noted([...visits, ...joins].map(({ messageId }) => messageId));
    type Deletion = { id: string; status: string; receipt?: { deleteMessages: { messageId: string }[] } };
    let deletion = (await api(urlOf("b"), "POST", "/deletions", { userIds: ["joined-user"] })) as Deletion;
    while (deletion.status !== "finished") {
      await new Promise((resolve) => setTimeout(resolve, 20));
      deletion = await get<Deletion>(`/deletions/${deletion.id}`);
    }
    const told = received.filter(({ type }) => type === "delete");
    expect(told).toMatchObject([{ type: "delete", userId: "joined-user" }]);
    expect(deletion.receipt?.deleteMessages).toHaveLength(1);
    await expect(get("/messages/visit-dev-3")).rejects.toThrow("404");
  });

  test("keeps the order of each user and loses nothing while an owner is cut off and another one moved", async () => {
    const users = Array.from({ length: 8 }, (_, index) => `o-${index}`);
    const before = received.length;
    const sent: string[] = [];
    const refusals = new Set<string>();
    let isCut = false;
    const isThrough = Promise.withResolvers<void>();
    let through = 0;
    const stop = new AbortController();
    /** As SDKs do: one batch after the other, repeated until it is taken. */
    const sender = async (number: number): Promise<void> => {
      for (let round = 0; !stop.signal.aborted; round++) {
        const own = users.filter((_, index) => index % 4 === number);
        const batch = [0, 1, 2].flatMap((step) =>
          own.map((user) => track(user, `${user}:${String(round * 3 + step).padStart(5, "0")}`)),
        );
        for (let attempt = 0; ; attempt++) {
          const node = attempt === 0 && round % 2 === 1 && !isCut ? "b" : "a";
          const answer = await post("/v1/batch", JSON.stringify({ batch }), undefined, node).catch(
            () => undefined,
          );
          if (answer?.status === 200) break;
          if (answer !== undefined) refusals.add(`${answer.status} ${answer.headers.get("retry-after")}`);
        }
        sent.push(...batch.map(({ messageId }) => messageId));
        through++;
        if (through === 20) isThrough.resolve();
      }
    };
    const senders = [0, 1, 2, 3].map(sender);
    await isThrough.promise;
    // Partition 2 moves in order, then "b" loses the engine, as if it were killed.
    await api(urlOf("a"), "PUT", "/cluster/partitions/2/owner", { node: "b" });
    const ownersOf = async () => {
      const { partitions } = await get<{ partitions: { owner?: string; phase?: string }[] }>("/cluster");
      return partitions.map(({ owner, phase }) => (phase === "leading" ? owner : undefined));
    };
    while ((await ownersOf())[2] !== "b") await new Promise((resolve) => setTimeout(resolve, 50));
    isCut = true;
    world.engines.faultsOf("b").cut();
    while ((await ownersOf()).some((owner) => owner !== "a"))
      await new Promise((resolve) => setTimeout(resolve, 50));
    const afterwards = through;
    while (through < afterwards + 8) await new Promise((resolve) => setTimeout(resolve, 20));
    stop.abort();
    await Promise.all(senders);
    world.engines.faultsOf("b").heal();
    await webhook.noted(sent);
    const sinceThen = received.slice(before);
    expect([...refusals].filter((refusal) => refusal !== "503 1")).toEqual([]);
    for (const user of users) {
      const first = new Set(
        sinceThen.filter(({ userId }) => userId === user).map(({ messageId }) => messageId),
      );
      expect([...first]).toEqual([...first].sort());
    }
  }, 60_000);
});
