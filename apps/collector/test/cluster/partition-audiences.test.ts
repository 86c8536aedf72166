import { afterAll, beforeAll, describe, expect, onTestFailed, test } from "vitest";
import { ADMIN_TOKEN, api, type ClusterWorld, clusterWorld } from "./cluster-world.js";
import { type NotingWebhook, notingWebhook } from "./noting-webhook.js";
import { until } from "./until.js";

const PARTITIONS = 3;
const NODES = ["a", "b"] as const;

interface Source {
  readonly id: string;
  readonly partition: number;
  readonly writeKeys: readonly { readonly key: string }[];
}
interface Told {
  readonly userId?: string;
  readonly traits?: Readonly<Record<string, unknown>>;
}

/** What audiences tell. */
function toldBy(body: unknown): string[] {
  const { userId, traits = {} } = body as Told;
  return Object.entries(traits).map(([key, value]) => `${userId} ${key} ${value}`);
}

let world: ClusterWorld;
let webhook: NotingWebhook<string>;
let sources: readonly Source[];
let audienceId: string;
let traitId: string;

const urlOf = (node?: string): string =>
  (node === undefined ? undefined : world.nodes().get(node)?.url) ??
  [...world.nodes().values()][0]?.url ??
  "";
const get = <T>(path: string, node?: string): Promise<T> => api(urlOf(node), "GET", path) as Promise<T>;

async function send(partition: number, message: object, node?: string): Promise<void> {
  const response = await fetch(`${urlOf(node)}/v1/batch`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${sources[partition]?.writeKeys[0]?.key}:`)}` },
    body: JSON.stringify({ batch: [message] }),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
}

const order = (userId: string, amount: number) => ({
  ...{ type: "track", event: "Ordered", userId },
  properties: { amount },
});

async function deleteOnce(userIds: readonly string[]): Promise<string> {
  const response = await fetch(`${urlOf("a")}/api/v1/deletions`, {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "idempotency-key": "deletion-1" },
    body: JSON.stringify({ userIds, suppress: true }),
  });
  const { id } = (await response.json()) as { readonly id: string };
  expect(response.status).toBe(201);
  return id;
}

async function allOwned(): Promise<void> {
  await until(
    async () => [...world.nodes().values()].some(({ state }) => state.hasOwner),
    (is) => is,
  );
}

async function eachHasOneOwner(): Promise<void> {
  await until(
    async () => [...world.nodes().values()].map(({ state }) => state),
    (states) =>
      states.every(({ isOwner, hasOwner }) => isOwner && hasOwner) &&
      states.flatMap(({ partitions }) => partitions.filter(({ isOwner }) => isOwner)).length === PARTITIONS,
  );
}

/** What is known of a user's messages: which of them count, where they are stored, and who owns what. */
async function tellOf(userId: string): Promise<void> {
  const told = webhook.notes.filter((one) => one.startsWith(`${userId} `));
  console.error(`told of ${userId}:`, told, "logged:", world.logged.slice(-40).join(""));
  for (const [node, { state }] of world.nodes()) {
    const owned = state.partitions.filter(({ isOwner }) => isOwner).map(({ number }) => number);
    const status = state.partitions.map(({ replica }) => replica.status());
    console.error(`${node} owns partitions ${owned}:`, JSON.stringify(status));
    const why = `/computed-traits/${traitId}/why?userId=${userId}`;
    for (const path of [why, "/audience-engine", `/messages?userId=${userId}`])
      console.error(node, path, await get(path, node).then(JSON.stringify, (error: unknown) => error));
  }
}

beforeAll(async () => {
  world = await clusterWorld();
  webhook = await notingWebhook(toldBy);
  for (const node of NODES) await world.start(node, {}, { partitions: PARTITIONS });
  await allOwned();
  const made: Source[] = [];
  for (let number = 0; number < PARTITIONS; number++)
    made.push((await api(urlOf("a"), "POST", "/sources", { name: `source ${number}` })) as Source);
  sources = made;
  expect(sources.map(({ partition }) => partition)).toEqual([0, 1, 2]);
}, 60_000);

afterAll(async () => {
  await world[Symbol.asyncDispose]();
  webhook.close();
});

describe("audiences of a cluster of several partitions", () => {
  test("count what came before they were made, in all partitions", async () => {
    for (const partition of sources.keys()) await send(partition, order("ann", partition + 1), "b");
    await send(1, { type: "identify", userId: "ann", anonymousId: "n1", traits: { plan: "pro" } });
    await send(2, { type: "track", event: "Ordered", anonymousId: "n1", properties: { amount: 10 } });
    const destination = (await api(urlOf("b"), "POST", "/destinations", {
      ...{ type: "webhooks", sourceIds: [], enabled: true },
      settings: { webhooks: [{ url: webhook.url }], sharedSecret: "a shared secret" },
    })) as { readonly id: string };
    const destinationIds = [destination.id];
    const preview = await api(urlOf("a"), "POST", "/computed-traits/preview", {
      ...{ kind: "sum", event: "Ordered", property: "amount" },
    });
    expect(preview).toMatchObject({ size: 1, sample: [{ userId: "ann", value: 16 }] });
    traitId = (
      (await api(urlOf("b"), "POST", "/computed-traits", {
        ...{ name: "Spent", kind: "sum", event: "Ordered", property: "amount" },
        destinationIds,
      })) as { readonly id: string }
    ).id;
    audienceId = (
      (await api(urlOf("a"), "POST", "/audiences", {
        ...{ name: "Buyers", destinationIds },
        condition: { kind: "event", event: "Ordered", times: { atLeast: 3 } },
        sync: { initialDelayMs: 0, everyMs: 0 },
      })) as { readonly id: string }
    ).id;
    await webhook.noted(["ann buyers true", "ann spent 16"]);
    for (const node of NODES) {
      expect(await get(`/profiles/ann`, node)).toMatchObject({
        traits: { plan: "pro" },
        computedTraits: { spent: 16 },
        audiences: [{ id: audienceId, member: true }],
      });
      expect(await get("/profiles?q=ann", node)).toMatchObject({ items: [{ userId: "ann" }], total: 1 });
      expect(await get(`/audiences/${audienceId}/members`, node)).toMatchObject({
        items: [{ userId: "ann" }],
      });
      expect(await get("/audiences", node)).toMatchObject({ items: [{ size: 1 }] });
    }
  });

  test("count what comes, and find it in the answer", async () => {
    for (const partition of sources.keys()) {
      await send(partition, order("bob", 5), "a");
      const spent = 5 * (partition + 1);
      expect(await get("/profiles/bob", "b")).toMatchObject({ computedTraits: { spent } });
    }
    await webhook.noted(["bob buyers true"]);
    const why = await get<{ madeOf: { sourceId: string }[] }>(`/computed-traits/${traitId}/why?userId=bob`);
    expect(why.madeOf.map(({ sourceId }) => sourceId).sort()).toEqual(sources.map(({ id }) => id).sort());
    expect(await get("/audience-engine")).toEqual({
      ...{ behind: 0, setAside: [] },
      partitions: [0, 1, 2].map((partition) => ({ partition, behind: 0, isReadable: true })),
    });
  });

  test("say of a message in any partition which joins were refused", async () => {
    await send(2, { type: "identify", userId: "bob", anonymousId: "n1", messageId: "join-1" });
    await get("/profiles/bob");
    expect(await get("/messages/join-1", "b")).toMatchObject({
      issues: [{ code: "join_refused", path: "anonymousId" }],
    });
  });

  test("go on when partition 0 and another one have a new owner", async () => {
    const { node: owner } = await world.owner();
    const other = NODES.find((node) => node !== owner) as string;
    await world.stop(owner);
    await allOwned();
    for (const partition of sources.keys()) await send(partition, order("cid", 1), other);
    await webhook.noted(["cid buyers true", "cid spent 3"]);
    expect(await get("/profiles/ann", other)).toMatchObject({ computedTraits: { spent: 16 } });
    expect(await get(`/audiences/${audienceId}/members`, other)).toMatchObject({
      items: [{ userId: "ann" }, { userId: "bob" }, { userId: "cid" }],
    });
    await world.start(owner, {}, { partitions: PARTITIONS });
    // It is handed one of the partitions, whose messages are counted as before.
    await until(
      async () => [...world.nodes().values()].every(({ state }) => state.isOwner && state.hasOwner),
      (is) => is,
    );
    for (const partition of sources.keys()) await send(partition, order("dan", 1), owner);
    await webhook.noted(["dan buyers true", "dan spent 3"]);
    // Nobody is told the same again.
    expect(webhook.notes.filter((one) => one === "cid buyers true" || one === "ann spent 16")).toHaveLength(
      2,
    );
  });

  test("count each message once when the owner of partition 0 is cut off between them", async () => {
    onTestFailed(() => tellOf("fay"));
    const { node: owner } = await world.owner();
    const other = NODES.find((node) => node !== owner) as string;
    for (const partition of sources.keys()) await send(partition, order("fay", 1), owner);
    world.engines.faultsOf(owner).cut();
    await world.owner([other]);
    // Another partition may have no owner for some seconds more: the others go on.
    const owned =
      world
        .nodes()
        .get(other)
        ?.state.partitions.filter(({ isOwner }) => isOwner) ?? [];
    for (const { number } of owned) await send(number, order("fay", 1), other);
    const spent = sources.length + owned.length;
    await webhook.noted(["fay buyers true", `fay spent ${spent}`]);
    world.engines.faultsOf(owner).heal();
    // Until it knows that it was replaced, it answers 503, and never with what it had counted.
    const profile = await until(
      () =>
        get("/profiles/fay", owner).catch((error: Error) => {
          if (error.message.includes(": 503 ")) return undefined;
          throw error;
        }),
      (found) => found !== undefined,
    );
    expect(profile).toMatchObject({ computedTraits: { spent } });
    // A process that does not know yet that it lost a partition refuses requests to it.
    await eachHasOneOwner();
  });

  test("forget a user whose messages are in all partitions", async () => {
    const plan = await api(urlOf("b"), "POST", "/deletions", { userIds: ["ann"], dryRun: true });
    // Those that audiences made are messages too.
    expect(plan).toMatchObject({
      users: [{ userId: "ann", messages: 7, profile: true, audienceMemberships: 1, anonymousIds: ["n1"] }],
    });
    const id = await deleteOnce(["ann"]);
    interface Deletion {
      readonly status: string;
      readonly receipt?: { readonly users: readonly object[] };
    }
    const ended = await until(
      () => get<Deletion>(`/deletions/${id}`),
      ({ status }) => status === "finished",
    );
    expect(ended.receipt?.users).toMatchObject([
      { kind: "user", messages: 7, profile: true, audienceMemberships: 1, anonymousIds: 1 },
    ]);
    await expect(get("/profiles/ann")).rejects.toThrow("404");
    for (const partition of sources.keys()) await send(partition, order("eve", 1));
    await webhook.noted(["eve spent 3"]);
    await expect(get("/profiles/ann")).rejects.toThrow("404");
    await expect(get("/profiles/n1")).rejects.toThrow("404");
    // A repetition of the request gets the same deletion, although the profile is gone.
    expect(await deleteOnce(["ann"])).toBe(id);
    // Lifted, the user is counted again, in every partition, and so is the id that was joined.
    expect(await get("/suppressions")).toMatchObject({ items: [{}, { joinedTo: expect.any(String) }] });
    await api(urlOf("b"), "DELETE", "/suppressions/ann");
    expect(await get("/suppressions")).toEqual({ items: [] });
    for (const partition of sources.keys()) await send(partition, order("ann", 2));
    expect(await get("/profiles/ann")).toMatchObject({ computedTraits: { spent: 6 } });
  });
});
