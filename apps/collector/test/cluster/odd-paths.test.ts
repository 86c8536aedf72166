import { afterAll, beforeAll, expect, test } from "vitest";
import { ADMIN_TOKEN, api, type ClusterWorld, clusterWorld } from "./cluster-world.js";
import { sendPath } from "./send-path.js";

let world: ClusterWorld;
const urlOf = (node: string): string => world.nodes().get(node)?.url ?? "";

beforeAll(async () => {
  world = await clusterWorld();
  for (const node of ["a", "b"]) await world.start(node);
  await Promise.all(["a", "b"].map((node) => api(urlOf(node), "GET", "/sources")));
});
afterAll(() => world[Symbol.asyncDispose]());

test.each(["messages", "operations", "deletions", "live", "audit", "sources"])(
  "each process answers HEAD /%s as it answers GET",
  async (path) => {
    for (const node of ["a", "b"]) {
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
      const { status } = await fetch(`${urlOf(node)}/api/v1/${path}`, { method: "HEAD", headers });
      expect(status).toBe(200);
    }
  },
);

test.each([
  ["//", 405, "method_not_allowed"],
  ["//[", 404, "not_found"],
  ["*", 404, "not_found"],
  ["http://[/v1/track", 401, "invalid_write_key"],
  ["/v1/track", 401, "invalid_write_key"],
  ["/v1/track?writeKey=%E0%A4%A", 401, "invalid_write_key"],
  ["/v1/projects/%E0/settings", 404, "not_found"],
  ["/v1/batch?", 401, "invalid_write_key"],
])("each process of a cluster answers POST %s, and lives on", async (path, status, code) => {
  for (const node of ["a", "b"]) {
    const answer = await sendPath(urlOf(node), path);
    expect(answer).toMatchObject({ status, body: { success: false, code, requestId: expect.any(String) } });
    expect(await api(urlOf(node), "GET", "/sources")).toEqual({ items: [] });
  }
});
