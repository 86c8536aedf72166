import type { ClusterView } from "@sluice/control-api";
import { expect, test } from "vitest";
import { type ClusterControl, clusterEndpoints } from "../../src/admin/collector/cluster-endpoints.js";
import type { AdminContext } from "../../src/admin/context.js";
import type { Endpoint } from "../../src/admin/endpoint/endpoint.js";

type Asked = Parameters<Endpoint["handle"]>[0];

/** What a cluster of one process answers. */
async function ask(partitions: number, key: string, params: Readonly<Record<string, string>>) {
  const view = {
    partitions: Array.from({ length: partitions }, (_, partition) => ({ partition, term: 1 })),
    members: [{ node: "a", isAlive: true, isReady: true, isDrained: false }],
  } as unknown as ClusterView;
  const control = { name: "sluice", node: "a", view: () => view, drain: async () => true };
  const found = clusterEndpoints(control as unknown as ClusterControl).find(
    ({ method, path }) => `${method} ${path}` === key,
  );
  return found?.handle({ params, body: { node: "a" } } as unknown as Asked, {} as AdminContext);
}

test.each([
  [1, "a is the only process that can own the partition: start another one"],
  [4, "a is the only process that can own the partitions: start another one"],
])("says what the last process owns: %i", async (partitions, message) => {
  await expect(ask(partitions, "POST /cluster/members/:node/drain", { node: "a" })).rejects.toThrow(message);
});

test.each([
  [1, "the cluster has only partition 0"],
  [4, "the cluster has the partitions 0 to 3"],
])("names the partitions that there are: %i", async (partitions, message) => {
  const asked = ask(partitions, "PUT /cluster/partitions/:partition/owner", { partition: "x" });
  await expect(asked).rejects.toThrow(message);
});
