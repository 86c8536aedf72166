import { systemClock } from "@sluice/resilience";
import { openReplica } from "../../src/replicated/open-replica.js";
import { profileStoreContract } from "../contracts/profile-store.contract.js";
import { openMemoryEngines } from "../memory-engine/open-memory-engines.js";
import { temporaryDirectories } from "../temporary-directory.js";
import { leadSafely } from "./cluster.js";

const temporaryDirectory = temporaryDirectories();

profileStoreContract("replicated", async () => {
  const directory = temporaryDirectory();
  const engine = openMemoryEngines().engineFor("a");
  const lead = async (term: number) => {
    const replica = await openReplica({ directory, engine, clock: systemClock, node: "a" });
    return { replica, ...(await leadSafely(replica, term)) };
  };
  let now = await lead(1);
  return {
    store: now.profiles,
    async reopen() {
      await now.stepDown();
      await now.replica.close();
      now = await lead(2);
      return now.profiles;
    },
    dispose: () => now.replica.close(),
  };
});
