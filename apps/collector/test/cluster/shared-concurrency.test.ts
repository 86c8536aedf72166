import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { api, clusterWorld } from "./cluster-world.js";

const MESSAGES = 20;
/** Long enough for requests of two partitions to meet. */
const ANSWERS_AFTER_MS = 5;

/** Notes how many requests it had at once. `all` resolves after `MESSAGES`. */
async function slowReceiver() {
  const all = Promise.withResolvers<void>();
  let [underWay, most, answered] = [0, 0, 0];
  const server = createServer((request, response) => {
    underWay += 1;
    most = Math.max(most, underWay);
    request.resume();
    request.on("end", () =>
      setTimeout(() => {
        underWay -= 1;
        answered += 1;
        response.end();
        if (answered === MESSAGES) all.resolve();
      }, ANSWERS_AFTER_MS),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    all: all.promise,
    most: () => most,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

test("a process that owns several partitions keeps to a destination's concurrency", async () => {
  await using world = await clusterWorld();
  using receiver = await slowReceiver();
  await world.start("a", {}, { partitions: 2 });
  const url = world.nodes().get("a")?.url ?? "";
  const source = (await api(url, "POST", "/sources", { name: "Busy", partitions: 2 })) as {
    readonly id: string;
    readonly writeKeys: readonly { readonly key: string }[];
  };
  const settings = { webhooks: [{ url: receiver.url }], concurrency: 1 };
  await api(url, "POST", "/destinations", {
    ...{ type: "webhooks", sourceIds: [source.id], enabled: true },
    settings: { ...settings, sharedSecret: "a shared secret" },
  });
  const batch = Array.from({ length: MESSAGES }, (_, index) => {
    const message = { type: "track", event: "Ordered", userId: `u${index}` };
    return { ...message, messageId: `m${index}` };
  });
  const { status } = await fetch(`${url}/v1/batch`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Basic ${btoa(`${source.writeKeys[0]?.key}:`)}`,
    },
    body: JSON.stringify({ batch }),
  });
  expect(status).toBe(200);
  await receiver.all;
  expect(receiver.most()).toBe(1);
  // Both partitions have sent some.
  const partitions = async (): Promise<string[]> => {
    const { items } = (await api(url, "GET", "/messages?limit=100")) as {
      readonly items: readonly { readonly outcomes: readonly { readonly id: string }[] }[];
    };
    const ids = items.flatMap(({ outcomes }) => outcomes.map(({ id }) => id));
    return [...new Set(ids.map((id) => /\.(?:(\d+)-)?\d+$/.exec(id)?.[1] ?? "0"))].sort();
  };
  await expect.poll(partitions).toEqual(["0", "1"]);
});
