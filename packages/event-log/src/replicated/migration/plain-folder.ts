import type { DatabaseSync } from "node:sqlite";
import { PurgedMessages } from "../../sqlite/consumers/purged-messages.js";
import { MetaNumber } from "../../sqlite/database/meta-number.js";
import { TRUSTED_TIME } from "../../sqlite/index/segments.js";
import { AppliedMark } from "../../sqlite/replica/applied-mark.js";
import { REPLICA_SETTINGS } from "../../sqlite/replica/settings.js";
import { withDatabases } from "./read-folder.js";

/**
 * Removes what only a copy of a log has. A folder that was restored from a cluster's backup has it too, and it counts the entries of
 * another log: a copy that kept its marks would take the first entries of its own log for ones that it has already.
 */
export async function makePlain(folder: string): Promise<void> {
  await withDatabases(folder, ({ store, profiles }) => {
    const { trustedMs } = new AppliedMark(store).value;
    store.exec("BEGIN");
    const time = new MetaNumber(store, TRUSTED_TIME);
    time.set(Math.max(trustedMs, time.value ?? 0));
    store.prepare("DELETE FROM meta WHERE name = ?").run(REPLICA_SETTINGS);
    store.exec("COMMIT");
    for (const database of [store, profiles]) removeMark(database);
  });
}

function removeMark(database: DatabaseSync): void {
  database.exec(AppliedMark.removal);
  database.exec(PurgedMessages.removal);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
}
