import { openMemoryEngines } from "../../src/replicated/memory/open-memory-engines.js";
import { replicationEngineContract } from "../contracts/replication-engine.contract.js";

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
