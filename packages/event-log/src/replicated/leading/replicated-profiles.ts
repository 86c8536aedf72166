import type { ProfileStore } from "../../ports/profiles.js";
import { passedOn } from "../../sqlite/calls/passed-on.js";
import type { StoreConnection } from "../../sqlite/client/connection.js";

/** The owner's profiles: commits go through the log, and reads to the local copy. */
export function replicatedProfiles(connection: Pick<StoreConnection, "ask">): ProfileStore {
  return {
    ...passedOn("profiles", (operation, args) => connection.ask(operation, args)),
    async commit(change) {
      await connection.ask("commitProfiles", change);
    },
    async compact() {
      await connection.ask("compact", {});
    },
    snapshots: passedOn("profileSnapshots", (operation, args) => connection.ask(operation, args)),
    // The stores of an owner are closed together.
    close: async () => {},
  };
}
