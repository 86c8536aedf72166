import type { DeletionReceipt } from "@sluice/control-api";
import type { ConfigStore, IdDigest, Versioned } from "@sluice/event-log";
import { DELETION, type DeletionDocument } from "./deletion.js";

/** Returns all deletions. Replaces plain digests in receipts from older versions with keyed digests. */
export async function withKeyedReceipts(
  config: ConfigStore,
  digest: IdDigest,
): Promise<readonly Versioned<DeletionDocument>[]> {
  const deletions = await config.list<DeletionDocument>(DELETION);
  return Promise.all(
    deletions.map(async (deletion) => {
      const { id, value, version } = deletion;
      const users = value.receipt.users as readonly (DeletionReceipt["users"][number] & {
        readonly userIdSha256?: string;
      })[];
      if (users.every(({ userIdSha256 }) => userIdSha256 === undefined)) return deletion;
      const keyed = users.map(({ userIdSha256 = "", ...user }) => ({
        ...user,
        idHmac: digest.ofSha256(userIdSha256),
        kind: "any" as const,
        anonymousIds: 0,
        aliasesLeft: 0,
      }));
      return config.put(DELETION, id, { ...value, receipt: { ...value.receipt, users: keyed } }, version);
    }),
  );
}
