import type { Snapshots } from "../../ports/snapshots.js";
import type { StoreConnection } from "./connection.js";

/** The main thread's side of snapshots. */
export function sqliteSnapshots(connection: () => StoreConnection): Snapshots {
  return {
    begin: () => connection().ask("beginSnapshot", {}),
    read: (at, bytes) => connection().ask("readSnapshot", { at, bytes }),
    end: () => connection().ask("endSnapshot", {}),
  };
}
