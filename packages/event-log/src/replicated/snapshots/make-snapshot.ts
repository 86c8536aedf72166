import type { Copy } from "../copy.js";
import type { ReplicationEngine, SnapshotRecord } from "../engine.js";
import { listSnapshots, metadataOf, nameOfSnapshot } from "./snapshot-record.js";
import { untilAborted } from "./until-aborted.js";

/** Whole pages of every page size. */
const PART_BYTES = 1024 * 1024;

export interface SnapshotOptions {
  readonly node: string;
  /** How many entries that the snapshot contains are kept: followers that are a little behind still need those. */
  readonly keptEntries: number;
  readonly nowMs: number;
  /** Ends the upload. */
  readonly signal?: AbortSignal;
}

/** Uploads the copy as it is after one entry. Then removes older snapshots, and the entries that the snapshot contains. */
export async function makeSnapshot(
  engine: ReplicationEngine,
  copy: Copy,
  { node, keptEntries, nowMs, signal }: SnapshotOptions,
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
    const record = await engine.snapshots.put(
      name,
      metadata,
      untilAborted(partsOf(copy, store.bytes, profiles.bytes), signal),
    );
    await removeOlder(engine);
    await engine.log.trim(Math.max(0, sequence - keptEntries));
    return record;
  } finally {
    await Promise.allSettled([copy.ask("snapshots.end", []), copy.ask("profileSnapshots.end", [])]);
  }
}

async function* partsOf(copy: Copy, storeBytes: number, profilesBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < storeBytes; at += PART_BYTES)
    yield await copy.ask("snapshots.read", [at, PART_BYTES]);
  for (let at = 0; at < profilesBytes; at += PART_BYTES)
    yield await copy.ask("profileSnapshots.read", [at, PART_BYTES]);
}

/** Of several snapshots the newest stays. It may be that of another process, which finished meanwhile. */
async function removeOlder(engine: ReplicationEngine): Promise<void> {
  const [, ...older] = await listSnapshots(engine.snapshots);
  for (const { name } of older) await engine.snapshots.remove(name);
}
