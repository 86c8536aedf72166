import { CollectorError } from "../errors.js";
import {
  type BackedUpDeletion,
  type BackupFile,
  type BackupManifest,
  idOfTime,
  PARTITIONED_FORMAT,
} from "./manifest.js";

/** The manifest of the backup of one partition. */
export interface PartManifest {
  readonly partition: number;
  readonly manifest: BackupManifest;
}

/** What a folder is restored from: a whole backup, or the part of one partition. */
export interface BackupPart {
  /** Undefined: the backup is not of several partitions. */
  readonly partition: number | undefined;
  readonly files: readonly BackupFile[];
}

/**
 * One manifest of the manifests of all partitions of a cluster. Settings are those of the first partition, which all others follow. Throws
 * `storage_unavailable` if a part lacks its database, so that no backup silently lacks a partition.
 */
export function mergeManifests(parts: readonly PartManifest[]): BackupManifest {
  const inOrder = [...parts].sort((one, other) => one.partition - other.partition);
  const [control] = inOrder as [PartManifest];
  for (const [index, { partition, manifest }] of inOrder.entries()) {
    if (partition !== index)
      throw new CollectorError("storage_unavailable", `the part of partition ${index} is missing`);
    if (manifest.partitions !== undefined || manifest.files.every(({ layout }) => layout === undefined))
      throw new CollectorError(
        "storage_unavailable",
        `the part of partition ${index} is not that of a store`,
      );
  }
  // What was acknowledged before the first part was begun is in all of them.
  const createdAt = inOrder.map(({ manifest }) => manifest.createdAt).sort()[0] as string;
  return {
    ...control.manifest,
    format: PARTITIONED_FORMAT,
    id: idOfTime(createdAt),
    createdAt,
    counts: {
      messages: inOrder.reduce((sum, { manifest }) => sum + manifest.counts.messages, 0),
      documents: control.manifest.counts.documents,
    },
    files: inOrder.flatMap(({ partition, manifest }) =>
      manifest.files.map((file) => ({ ...file, partition })),
    ),
    deletions: inOrder.flatMap(({ partition, manifest }) =>
      manifest.deletions.map((deletion) => ({ ...deletion, partition })),
    ),
    partitions: inOrder.map(({ partition, manifest: { createdAt: begunAt, counts } }) => ({
      partition,
      createdAt: begunAt,
      counts,
    })),
  };
}

/** A part for each folder that is restored. */
export function partsOf({ files, partitions }: BackupManifest): readonly BackupPart[] {
  if (partitions === undefined) return [{ partition: undefined, files }];
  return partitions.map(({ partition }) => ({
    partition,
    files: files.filter((file) => file.partition === partition),
  }));
}

/** The deletions that concern a part. Backups that were made before the cluster had several partitions are of the first one. */
export function deletionsOf(
  { deletions }: BackupManifest,
  partition: number | undefined,
): readonly BackedUpDeletion[] {
  return deletions.filter((one) => (one.partition ?? 0) === (partition ?? 0));
}
