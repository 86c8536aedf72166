import type { Copy } from "../copy/copy.js";
import type { ReplicationEngine, SnapshotRecord } from "../engine.js";
import { listSnapshots, metadataOf, nameOfSnapshot } from "./snapshot-record.js";

/** Whole pages of every page size. */
const PART_BYTES = 1024 * 1024;

/**
 * Uploads the copy as it is after one entry. Then removes older snapshots, and the entries that the snapshot contains, but for the last
 * `keptEntries`: followers that are a little behind still need those.
 */
export async function makeSnapshot(
  engine: ReplicationEngine,
  copy: Copy,
  node: string,
  keptEntries: number,
  nowMs: number,
): Promise<SnapshotRecord> {
  const { applied, store, profiles } = await copy.ask("beginCopySnapshot", {});
  const { sequence } = applied;
  const name = nameOfSnapshot(sequence, node);
  try {
    const metadata = metadataOf({
      ...{ sequence, madeAtMs: nowMs },
      storeBytes: store.bytes,
      profilesBytes: profiles.bytes,
    });
    const record = await engine.snapshots.put(name, metadata, partsOf(copy, store.bytes, profiles.bytes));
    await removeOlder(engine);
    await engine.log.trim(Math.max(0, sequence - keptEntries));
    return record;
  } finally {
    await Promise.allSettled([
      copy.ask("endSnapshot", {}),
      copy.ask("profiles", { method: "endSnapshot", args: [] }),
    ]);
  }
}

async function* partsOf(copy: Copy, storeBytes: number, profilesBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < storeBytes; at += PART_BYTES)
    yield await copy.ask("readSnapshot", { at, bytes: PART_BYTES });
  for (let at = 0; at < profilesBytes; at += PART_BYTES)
    yield (await copy.ask("profiles", { method: "readSnapshot", args: [at, PART_BYTES] })) as Uint8Array;
}

/** Of several snapshots the newest stays. It may be that of another process, which finished meanwhile. */
async function removeOlder(engine: ReplicationEngine): Promise<void> {
  const [, ...older] = await listSnapshots(engine.snapshots);
  for (const { name } of older) await engine.snapshots.remove(name);
}
