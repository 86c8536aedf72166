import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "@sluice/resilience";
import { PurgedMessages } from "../../sqlite/consumers/purged-messages.js";
import { MetaNumber } from "../../sqlite/database/meta-number.js";
import { TRUSTED_TIME } from "../../sqlite/index/segments.js";
import { AppliedMark, REPLICA_SETTINGS } from "../../sqlite/replica/applied-mark.js";
import { encodeCall } from "../../sqlite/replica/call-codec.js";
import { decodeEntry, encodeEntry, MOVE_IN } from "../../sqlite/replica/entry.js";
import type { LogAppend, ReplicationEngine } from "../engine.js";
import { listSnapshots } from "../snapshots/snapshot-record.js";
import { MigrationRefused } from "./migration-result.js";
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

/** Stands for this command in the names of snapshots. */
export const MIGRATION_NODE = "migration";
/** Where the first entry of the log stands. */
export const MARK_SEQUENCE = 1;
const AGAIN_AFTER_MS = 200;

/** How far a migration into a cluster is. */
type MoveInState =
  /** The log was never written to. */
  | { readonly kind: "empty" }
  /** The first entry says that a migration has begun. No process can use the cluster before it is finished. */
  | { readonly kind: "begun"; readonly seed: number }
  /** The first entry is gone, and the snapshot stands for it. No process has used the cluster since. */
  | { readonly kind: "whole" }
  | { readonly kind: "used" };

export async function moveInState({ log, snapshots }: ReplicationEngine): Promise<MoveInState> {
  const { first, last } = await log.bounds();
  if (last === 0) return { kind: "empty" };
  if (last > MARK_SEQUENCE) return { kind: "used" };
  if (first > MARK_SEQUENCE) {
    const [newest] = await listSnapshots(snapshots);
    const isOurs = newest?.sequence === MARK_SEQUENCE && newest.name.endsWith(`-${MIGRATION_NODE}`);
    return { kind: isOurs ? "whole" : "used" };
  }
  const stop = new AbortController();
  try {
    for await (const { data } of log.read(0, stop.signal)) {
      const [call] = decodeEntry(data).calls;
      if (call?.operation !== MOVE_IN) break;
      return { kind: "begun", seed: (call.request as { readonly seed: number }).seed };
    }
  } finally {
    stop.abort();
  }
  return { kind: "used" };
}

/**
 * Makes the log's first entry one that no copy applies: from then on, no process can begin an empty log. Rejects if another process was
 * faster.
 */
export async function markMoveIn(
  engine: ReplicationEngine,
  clock: Clock,
  seed: number,
  signal: AbortSignal,
): Promise<void> {
  const id = { session: MIGRATION_NODE, number: 1 };
  const data = encodeEntry(id, [encodeCall({ operation: MOVE_IN, request: { seed } })]);
  for (;;) {
    const answer: LogAppend = await engine.log.append(data, 0);
    if (answer.kind === "appended") return;
    if (answer.kind === "impossible")
      throw new MigrationRefused("no_room", `the cluster's log has no room: ${answer.reason}`);
    const state = await moveInState(engine);
    if (state.kind === "begun" && state.seed === seed) return;
    if (state.kind !== "empty") throw refusalOf(state, seed);
    await clock.sleep(AGAIN_AFTER_MS, signal);
  }
}

export function refusalOf(state: MoveInState, seed: number): MigrationRefused {
  if (state.kind === "begun" && state.seed !== seed)
    return new MigrationRefused(
      "other_migration",
      "a migration of another data folder into this cluster has begun and is not finished. Finish it first, or choose another name for the cluster (SLUICE_CLUSTER_NAME)",
    );
  return new MigrationRefused(
    "cluster_has_data",
    "the cluster has data already, and nothing is merged. Choose another name for the cluster (SLUICE_CLUSTER_NAME)",
  );
}
