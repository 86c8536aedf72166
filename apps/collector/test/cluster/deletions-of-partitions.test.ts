import { afterAll, beforeAll, expect, test } from "vitest";
import { peerHeaders, peerToken } from "../../src/cluster/front/peer.js";
import { ADMIN_TOKEN, api, type ClusterWorld, clusterWorld, SECRET_KEY } from "./cluster-world.js";
import { until } from "./until.js";

let world: ClusterWorld;
const url = (): string => world.nodes().get("a")?.url ?? "";

beforeAll(async () => {
  world = await clusterWorld();
  await world.start("a", {}, { partitions: 2 });
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

interface Source {
  readonly partition: number;
  readonly writeKeys: readonly { readonly key: string }[];
}
interface Deletion {
  readonly id: string;
  readonly status: string;
  readonly step: string;
}

async function send(source: Source, ...batch: readonly object[]): Promise<void> {
  const response = await fetch(`${url()}/v1/batch`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${source.writeKeys[0]?.key}:`)}` },
    body: JSON.stringify({ batch }),
  });
  expect(await response.json()).toMatchObject({ accepted: batch.length });
}

/** Starts the deletion in partition 0 only, as a request does whose second owner is lost. */
async function beginInFirst(userId: string): Promise<void> {
  const raw = peerHeaders(
    { client: "127.0.0.1", listener: "public", run: `abcdefghijklmnop ${Date.now()}` },
    peerToken(Buffer.from(SECRET_KEY, "base64"), "test"),
  );
  const headers = new Headers({ authorization: `Bearer ${ADMIN_TOKEN}` });
  for (let i = 0; i < raw.length; i += 2) headers.set(raw[i] as string, raw[i + 1] as string);
  const body = JSON.stringify({ userIds: [userId] });
  const response = await fetch(`${url()}/api/v1/deletions`, { method: "POST", headers, body });
  expect(response.status).toBe(201);
}

const deletion = (id: string) => api(url(), "GET", `/deletions/${id}`) as Promise<Deletion>;

test("a deletion that is asked for again finds the visitor's ids, although it ran in another partition", async () => {
  const sources: Source[] = [];
  for (const name of ["first", "second"])
    sources.push((await api(url(), "POST", "/sources", { name })) as Source);
  const [first, second] = sources as [Source, Source];
  await send(second, { type: "track", event: "Seen", anonymousId: "visitor" });
  await send(first, { type: "identify", userId: "u-1", anonymousId: "visitor" });
  await beginInFirst("u-1");
  await until(
    () => deletion("del_abcdefghijklmnop"),
    ({ step, status }) => status === "finished" || step === "forget",
  );
  const { id } = (await api(url(), "POST", "/deletions", { userIds: ["u-1"] })) as Deletion;
  await until(
    () => deletion(id),
    ({ status }) => status === "finished",
  );
  expect(await api(url(), "GET", "/messages")).toEqual({ items: [] });
});

test("a deletion may have more ids that belong to its users than a request has bytes otherwise", async () => {
  const source = (await api(url(), "POST", "/sources", { name: "many" })) as Source;
  const text = "x".repeat(480);
  const userIds = Array.from({ length: 100 }, (_, number) => `user-${number}`);
  for (let device = 0; device < 6; device++)
    await send(
      source,
      ...userIds.map((userId) => ({ type: "identify", userId, anonymousId: `${userId} ${device} ${text}` })),
    );
  const begun = (await api(url(), "POST", "/deletions", { userIds })) as Deletion;
  expect(begun).toMatchObject({ userCount: userIds.length });
});
