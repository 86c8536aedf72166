import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "@sluice/resilience";
import { expect, onTestFinished, test } from "vitest";
import { factsFromMonitors, mayBeDown } from "../../src/jetstream/streams/sync-check.js";

async function page(body: string): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((_request, response) => void response.end(body)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    if (server.listening) await once(server.close(), "close");
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

const varz = (name: string): string =>
  JSON.stringify({ server_name: name, version: "2.10.27", jetstream: { config: { sync_always: true } } });

const servers = ["n1", "n2", "n3"].map((name) => ({ name, isOnline: true }));

test("a monitor that refuses connections stands for a server that may be down, not for one that does not sync", async () => {
  const [one, two, three] = await Promise.all(["n1", "n2", "n3"].map((name) => page(varz(name))));
  const monitors = [one?.url ?? "", two?.url ?? "", three?.url ?? ""];
  const all = await factsFromMonitors(monitors, systemClock);
  expect(all).toMatchObject({ failures: [], unreachable: 0 });
  expect(mayBeDown(servers, all)).toBe(true);

  await two?.close();
  await three?.close();
  const outage = await factsFromMonitors(monitors, systemClock);
  expect(outage.facts).toMatchObject([{ name: "n1", isSynced: true }]);
  expect(outage.failures).toEqual([expect.stringContaining("ECONNREFUSED"), expect.anything()]);
  expect(mayBeDown(servers, outage)).toBe(true);
});

test("a page that says nothing, or none at all, leaves a server unknown", async () => {
  const [one, other] = await Promise.all([page(varz("n1")), page("{}")]);
  const odd = await factsFromMonitors([one?.url ?? "", other?.url ?? ""], systemClock);
  expect(odd.unreachable).toBe(0);
  expect(mayBeDown(servers.slice(0, 2), odd)).toBe(false);
  expect(mayBeDown(servers, await factsFromMonitors([one?.url ?? ""], systemClock))).toBe(false);
});
