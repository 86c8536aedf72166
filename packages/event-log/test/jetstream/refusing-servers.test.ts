import { systemClock } from "@sluice/resilience";
import { afterEach, expect, it } from "vitest";
import { connectToNats } from "../../src/jetstream/connection.js";
import { openJetStream } from "../../src/jetstream/open-jetstream.js";
import { type Manner, fakeCluster as startFake } from "./fake-cluster.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function fakeCluster(manners: readonly Manner[]) {
  const cluster = await startFake(manners);
  closing.push(cluster.close);
  return cluster;
}

const wrong = { kind: "user", user: "me", password: "hidden" } as const;

it.each([
  ["all servers are named", 3],
  ["one of them is named", 1],
])("asks each server once whether it takes the credentials, and says what to set: %s", async (_, named) => {
  const { urls, tries } = await fakeCluster(["refuses", "refuses", "refuses"]);
  const servers = urls.slice(0, named);
  const refused = connectToNats({ servers, credentials: wrong, name: "test" });
  await expect(refused).rejects.toMatchObject({ name: "EngineRefused", code: "credentials" });
  const { message } = (await refused.catch((error: unknown) => error)) as Error;
  for (const url of servers) expect(message).toContain(url);
  expect(message).toContain('the user "me"');
  expect(message).toContain("SLUICE_CLUSTER_PASSWORD");
  expect(message).not.toContain("hidden");
  expect(tries).toEqual([1, 1, 1].fill(0, named));
});

it("says that no credentials were given", async () => {
  const { urls } = await fakeCluster(["refuses", "refuses"]);
  await expect(connectToNats({ servers: urls, name: "test" })).rejects.toThrow("without credentials");
});

it("tells of the credentials although other servers cannot be reached", async () => {
  const { urls, end } = await fakeCluster(["refuses", "accepts", "accepts"]);
  end(1);
  end(2);
  const refused = connectToNats({ servers: urls, credentials: wrong, name: "test" });
  await expect(refused).rejects.toMatchObject({ code: "credentials" });
});

it("goes on to a server that takes the credentials, and later to one that it told of", async () => {
  const { urls, tries, end } = await fakeCluster(["refuses", "accepts", "accepts"]);
  const connection = await connectToNats({ servers: urls.slice(0, 2), credentials: wrong, name: "test" });
  closing.push(() => connection.close());
  expect(tries[2]).toBe(0);
  const changes = connection.status();
  end(1);
  for await (const { type } of changes) if (type === "reconnect") break;
  expect(tries[2]).toBe(1);
});

it("ends at once while it opens, if that is wanted, and leaves no connection", async () => {
  const { urls, tried } = await fakeCluster(["accepts"]);
  const abort = new AbortController();
  const opening = openJetStream({
    ...{ servers: urls, cluster: "c", clock: systemClock, acceptUnsynced: true },
    signal: abort.signal,
  });
  opening.catch(() => {});
  // It is connected, and nobody answers for JetStream.
  await tried();
  abort.abort(new Error("SIGTERM"));
  await expect(opening).rejects.toThrow("SIGTERM");
});
