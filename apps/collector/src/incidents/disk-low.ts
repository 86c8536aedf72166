import { statfs } from "node:fs/promises";

export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** The space of the disk that a folder is on, as far as an ordinary user may use it. */
export async function diskSpace(folder: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

const GB = 1_024 ** 3;

/** The free space below which a disk counts as nearly full: 5 % of it, at least 1 GB and at most 20 GB; 20 % of a disk under 5 GB. */
export function lowBelowBytes(totalBytes: number): number {
  return Math.min(Math.max(totalBytes * 0.05, GB), 20 * GB, totalBytes * 0.2);
}

/** Once it is low, it must have half as much again to be no longer low, so that it does not change with every file. */
export function isDiskLow({ freeBytes, totalBytes }: DiskSpace, wasLow: boolean): boolean {
  return freeBytes < lowBelowBytes(totalBytes) * (wasLow ? 1.5 : 1);
}
