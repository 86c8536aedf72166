import { BEFORE_FIRST, type Offset } from "@sluice/event-log";

/**
 * Each partition of a cluster has a log of its own, whose offsets begin at 0. The engine sees one space of offsets: those of partition `p`
 * begin at `p * 2 ** 48`. So the offsets of a log that is alone, or of partition 0, are what they are there.
 *
 * A cursor is the offset of the last message that was counted. That of a partition of which nothing is counted is the offset before its
 * first, so the partition of a cursor is that of the offset after it.
 */
const OFFSETS = 2 ** 48;

/** How far something is in the log of each partition, by partition. A partition without a cursor has not begun. */
export type Cursors = readonly (Offset | undefined)[];

/** The engine's offset of a partition's own `offset`. */
export function offsetIn(partition: number, offset: Offset): Offset {
  return (partition * OFFSETS + offset) as Offset;
}

/** The last offset that a partition can have. */
export function lastOffsetIn(partition: number): Offset {
  return offsetIn(partition, (OFFSETS - 1) as Offset);
}

export function partitionOf(offset: Offset): number {
  return Math.floor(offset / OFFSETS);
}

/** The offset in the log of its partition. */
export function ownOffset(offset: Offset): Offset {
  return (offset - partitionOf(offset) * OFFSETS) as Offset;
}

export function partitionOfCursor(cursor: Offset): number {
  return partitionOf((cursor + 1) as Offset);
}

/** A cursor in the log of its partition. */
export function ownCursor(cursor: Offset): Offset {
  return (cursor - partitionOfCursor(cursor) * OFFSETS) as Offset;
}

export function cursorIn(cursors: Cursors, partition: number): Offset {
  return cursors[partition] ?? offsetIn(partition, BEFORE_FIRST);
}

/** Whether a message is at or before its partition's cursor. */
export function isCounted(cursors: Cursors, offset: Offset): boolean {
  return offset <= cursorIn(cursors, partitionOf(offset));
}

/** How many offsets are counted. */
export function countedOffsets(cursors: Cursors): number {
  return cursors.reduce<number>(
    (sum, cursor) => sum + (cursor === undefined ? 0 : ownCursor(cursor) - BEFORE_FIRST),
    0,
  );
}
