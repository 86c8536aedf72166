import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Owners } from "../../src/cluster/gateway/ask-owners.js";
import { gatewayRoutes } from "../../src/cluster/gateway/gateway-routes.js";
import type { HttpRequest } from "../../src/http/routing/route.js";
import { ADMIN_TOKEN, api, type ClusterWorld, clusterWorld } from "./cluster-world.js";

let world: ClusterWorld;
const urlOf = (node: string): string => world.nodes().get(node)?.url ?? "";

beforeAll(async () => {
  world = await clusterWorld();
  await world.start("a", {}, { partitions: 2 });
  await api(urlOf("a"), "GET", "/sources");
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

const ask = (path: string, token: string, method = "GET"): Promise<Response> =>
  fetch(`${urlOf("a")}/api/v1${path}`, { method, headers: { authorization: `Bearer ${token}` } });

/** `/sources` is answered by one partition, the others by all. */
const PATHS = ["/sources", "/messages", "/health", "/rates", "/operations", "/sources/src_1/usage"];

it.each(PATHS)("%s says in its headers what one collector says", async (path) => {
  const known = await ask(path, ADMIN_TOKEN);
  if (known.status === 200) expect(known.headers.get("cache-control")).toBe("no-store");
  const unknown = await ask(path, "sluice_wrong");
  if (unknown.status === 401) expect(unknown.headers.get("www-authenticate")).toBe('Bearer realm="sluice"');
  for (let tries = 0; tries < 6; tries++) await ask(path, "sluice_wrong");
  const limited = await ask(path, "sluice_wrong");
  expect(limited.status).toBe(429);
  expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(0);
});

it("a cursor behind the end of all partitions is none, whoever shows it", async () => {
  const cursor = Buffer.from("[0,0]").toString("base64url");
  expect((await ask(`/messages?cursor=${cursor}`, ADMIN_TOKEN)).status).toBe(400);
});

describe("the body of a request without a valid token", () => {
  const refusal = { partition: 0, status: 401, body: { success: false, code: "unauthorized" } };
  const owners: Owners = {
    partitions: [0, 1],
    ask: async () => refusal,
    newRun: () => "a run",
    owned: async () => {},
    stream: () => Promise.reject(new Error("nothing streams")),
  };

  it.each(["/operations", "/replays", "/deletions", "/deletions/:id/retry", "/reset", "/backups"])(
    "is not read by POST %s",
    async (path) => {
      const route = gatewayRoutes(owners, async () => []).find((one) => one.path === `/api/v1${path}`);
      const request = {
        ...{ method: "POST", path: `/api/v1${path}`, params: { id: "x" }, headers: {}, vouch: () => {} },
        readBody: () => Promise.reject(new Error("it was read")),
      } as unknown as HttpRequest;
      expect(await route?.methods.POST?.(request)).toMatchObject({ status: 401, body: refusal.body });
    },
  );
});
