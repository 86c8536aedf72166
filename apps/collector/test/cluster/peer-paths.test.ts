import { afterAll, beforeAll, expect, test } from "vitest";
import { api, type ClusterWorld, clusterWorld } from "./cluster-world.js";
import { sendPath } from "./send-path.js";

let world: ClusterWorld;
const urlOf = (node: string): string => world.nodes().get(node)?.url ?? "";

beforeAll(async () => {
  world = await clusterWorld();
  for (const node of ["a", "b"]) await world.start(node, {}, { partitions: 2 });
  await Promise.all(["a", "b"].map((node) => api(urlOf(node), "GET", "/sources")));
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

test.each([
  ["/cluster/v1/profiles", { partition: 1, question: { ask: "forgetAll" } }],
  ["/cluster/v1/documents", { kinds: [] }],
  ["/cluster/v1/disable-target", { destinationId: "dst_1", url: "http://127.0.0.1" }],
  ["/cluster/v1/report", { partition: 0 }],
  ["/cluster/v1/deletion", { partition: 0, deletionId: "del_1" }],
])(
  "no process passes a client's call of %s on, which is for processes of the cluster",
  async (path, body) => {
    for (const node of ["a", "b"])
      for (const prefix of ["", "http://sluice.test", "http://sluice.test/", "/"]) {
        const answer = await sendPath(urlOf(node), `${prefix}${path}`, { body: JSON.stringify(body) });
        expect({ node, prefix, ...answer }).toMatchObject({ node, prefix, body: { success: false } });
        expect([404, 405]).toContain(answer.status);
      }
  },
);
