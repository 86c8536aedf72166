import type { Offset } from "../../message/offset.js";
import type { MemberRecord, PendingMessage, ProfileRecord, ProfileStore } from "../../ports/profiles.js";
import type { SnapshotInfo } from "../../ports/snapshots.js";
import type { ProfileRead } from "../../sqlite/calls/operations.js";
import type { StoreConnection } from "../../sqlite/client/connection.js";
import { pageOfMembers } from "../../sqlite/profiles/profiles.js";

/** The owner's profiles: commits go through the log, and reads to the local copy. */
export function replicatedProfiles(connection: Pick<StoreConnection, "ask">): ProfileStore {
  // The method's name tells the type of the answer, but the compiler cannot follow that here.
  const read = <T>(method: ProfileRead, ...args: readonly unknown[]): Promise<T> =>
    connection.ask("profiles", { method, args }) as Promise<T>;
  return {
    cursor: () => read<Offset>("cursor"),
    documents: () => read<ReadonlyMap<string, string>>("documents"),
    resolve: (identities) => read<ReadonlyMap<string, number>>("resolve", identities),
    load: (numbers) => read<readonly ProfileRecord[]>("load", numbers),
    scan: (after, max) => read("scan", after, max),
    count: () => read<number>("count"),
    due: (nowMs, limit) => read<readonly number[]>("due", nowMs, limit),
    nextDueMs: () => read<number | undefined>("nextDueMs"),
    members: (definitionId, page) =>
      pageOfMembers(page, (after, limit) =>
        read<readonly MemberRecord[]>("members", definitionId, after, limit),
      ),
    held: (definitionId, limit) => read<readonly number[]>("held", definitionId, limit),
    pending: (limit) => read<readonly PendingMessage[]>("pending", limit),
    async commit(change) {
      await connection.ask("commitProfiles", change);
    },
    async compact() {
      await connection.ask("compact", {});
    },
    snapshots: {
      begin: () => read<SnapshotInfo>("beginSnapshot"),
      read: (at, bytes) => read<Uint8Array>("readSnapshot", at, bytes),
      end: () => read<void>("endSnapshot"),
    },
    // The stores of an owner are closed together.
    close: async () => {},
  };
}
