import { expect, it } from "vitest";
import { replicationEngineContract } from "../contracts/replication-engine.contract.js";
import { openMemoryEngines } from "../memory-engine/open-memory-engines.js";

replicationEngineContract("memory", async () => ({
  async newCluster() {
    const engines = openMemoryEngines();
    let nodes = 0;
    return {
      async connect() {
        nodes += 1;
        return engines.engineFor(`n${nodes}`);
      },
      close: async () => {},
    };
  },
  close: async () => {},
}));

it("tells a node that was cut off what has changed meanwhile", async () => {
  const engines = openMemoryEngines();
  const [a, b] = [engines.engineFor("a"), engines.engineFor("b")];
  const kept = await a.leases.put("kept", "1", undefined);
  const gone = await a.leases.put("gone", "1", undefined);
  const seen: (readonly [string, string | undefined])[] = [];
  const ending = new AbortController();
  await b.leases.watch("", (key, record) => seen.push([key, record?.value]), ending.signal);
  engines.faultsOf("b").cut();
  await a.leases.put("kept", "2", kept);
  await a.leases.remove("gone", gone ?? 0);
  await a.leases.put("new", "1", undefined);
  expect(seen.splice(0)).toEqual([
    ["kept", "1"],
    ["gone", "1"],
  ]);
  engines.faultsOf("b").heal();
  expect(seen).toEqual([
    ["kept", "2"],
    ["new", "1"],
    ["gone", undefined],
  ]);
  ending.abort();
});
