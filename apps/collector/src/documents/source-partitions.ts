import type { SourceDocument } from "./documents.js";

/** In which partitions of a cluster a source's messages are: `partitions` of them, from `partition` on. */
export type SourcePartitions = Pick<SourceDocument, "partition" | "partitions">;

/** A partition of a cluster, and how many there are. */
export interface OneOfPartitions {
  readonly number: number;
  readonly count: number;
}

/** Whether the messages of a source's users are in several partitions. */
export function isSpread({ partitions = 1 }: SourcePartitions): boolean {
  return partitions > 1;
}

/** The partitions of a source, of `count` that the cluster has. The first one is its home. */
export function partitionsOf({ partition = 0, partitions = 1 }: SourcePartitions, count: number): number[] {
  return Array.from({ length: Math.min(partitions, count) }, (_, index) => (partition + index) % count);
}

/** Whether a partition has messages of the source. */
export function isIn(
  { partition: home = 0, partitions = 1 }: SourcePartitions,
  { number, count }: OneOfPartitions,
): boolean {
  return (number - home + count) % count < partitions;
}
