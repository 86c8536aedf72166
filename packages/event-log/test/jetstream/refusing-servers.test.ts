import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { systemClock } from "@sluice/resilience";
import { afterEach, expect, it } from "vitest";
import { connectToNats } from "../../src/jetstream/connection.js";
import { openJetStream } from "../../src/jetstream/open-jetstream.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Manner = "refuses" | "accepts";

interface FakeCluster {
  readonly urls: readonly string[];
  /** How many clients tried, for each server. */
  readonly tries: readonly number[];
  /** Ends a server's connections, and takes no new ones. */
  end(server: number): void;
}

/** Servers that tell each client of all others, as those of a NATS cluster do, before they look at its credentials. */
async function fakeCluster(manners: readonly Manner[]): Promise<FakeCluster> {
  const tries = manners.map(() => 0);
  const sockets: Set<Socket>[] = manners.map(() => new Set());
  const addresses: string[] = [];
  const answer = (socket: Socket, manner: Manner): void => {
    const facts = { server_id: "S", version: "2.10.27", proto: 1, headers: true, max_payload: 1_024 };
    socket.write(`INFO ${JSON.stringify({ ...facts, connect_urls: addresses })}\r\n`);
    socket.on("data", (data) => {
      if (manner === "refuses") socket.end("-ERR 'Authorization Violation'\r\n");
      else if (data.includes("PING\r\n")) socket.write("PONG\r\n");
    });
  };
  const servers = manners.map((manner, index): Server => {
    const server = createServer((socket) => {
      tries[index] = (tries[index] ?? 0) + 1;
      sockets[index]?.add(socket);
      socket.on("error", () => {});
      answer(socket, manner);
    });
    return server.listen(0, "127.0.0.1");
  });
  await Promise.all(servers.map((server) => once(server, "listening")));
  addresses.push(...servers.map((server) => `127.0.0.1:${(server.address() as AddressInfo).port}`));
  const end = (index: number): void => {
    servers[index]?.close();
    for (const socket of sockets[index] ?? []) socket.destroy();
  };
  closing.push(() => manners.forEach((_, index) => void end(index)));
  return { urls: addresses.map((address) => `nats://${address}`), tries, end };
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
  const { urls, tries } = await fakeCluster(["accepts"]);
  const abort = new AbortController();
  const opening = openJetStream({
    ...{ servers: urls, cluster: "c", clock: systemClock, acceptUnsynced: true },
    signal: abort.signal,
  });
  opening.catch(() => {});
  // It is connected, and nobody answers for JetStream.
  await expect.poll(() => tries[0]).toBe(1);
  abort.abort(new Error("SIGTERM"));
  await expect(opening).rejects.toThrow("SIGTERM");
});
