import { openReplica } from "../../src/replicated/open-replica.js";
import { storeContract } from "../contracts/store.contract.js";
import { openMemoryEngines } from "../memory-engine/open-memory-engines.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();

/** The store of a replica that leads. Closing the store closes the replica. Small segments are in the random histories. */
storeContract("replicated", async (clock, options) => {
  const engine = openMemoryEngines().engineFor("a");
  const directory = temporaryDirectory();
  const replica = await openReplica({ directory, engine, clock, node: "a", ...options });
  const { store, stepDown } = await replica.lead(1, { onDeposed() {} });
  return {
    ...store,
    async close() {
      await stepDown();
      await replica.close();
    },
  };
});
