import type { SnapshotRecord, SnapshotStorage } from "../engine.js";

/** The version of what a snapshot holds: the bytes of the store's file, then those of the profiles' file. */
const FORMAT = "1";
const PREFIX = "copy-";

/** What a snapshot says about itself. */
export interface CopySnapshot {
  readonly name: string;
  /** The sequence of the last entry in it. */
  readonly sequence: number;
  /** By the wall clock of the process that made it. */
  readonly madeAtMs: number;
  readonly storeBytes: number;
  readonly profilesBytes: number;
}

/** Names in the order of their sequences. */
export function nameOfSnapshot(sequence: number, node: string): string {
  return `${PREFIX}${String(sequence).padStart(16, "0")}-${node}`;
}

export function metadataOf({
  sequence,
  madeAtMs,
  storeBytes,
  profilesBytes,
}: Omit<CopySnapshot, "name">): Record<string, string> {
  return {
    format: FORMAT,
    sequence: String(sequence),
    madeAtMs: String(madeAtMs),
    storeBytes: String(storeBytes),
    profilesBytes: String(profilesBytes),
  };
}

/** The snapshots that this version can read, the newest first. */
export async function listSnapshots(storage: SnapshotStorage): Promise<CopySnapshot[]> {
  const records = await storage.list();
  return records.flatMap((record) => readRecord(record) ?? []).sort((a, b) => b.sequence - a.sequence);
}

function readRecord({ name, bytes, metadata }: SnapshotRecord): CopySnapshot | undefined {
  if (!name.startsWith(PREFIX) || metadata.format !== FORMAT) return undefined;
  const sequence = Number(metadata.sequence);
  const storeBytes = Number(metadata.storeBytes);
  const profilesBytes = Number(metadata.profilesBytes);
  const madeAtMs = Number(metadata.madeAtMs);
  return storeBytes + profilesBytes === bytes
    ? { name, sequence, madeAtMs, storeBytes, profilesBytes }
    : undefined;
}
