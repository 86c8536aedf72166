/**
 * The index of a batch's last message; -1 if all items are skipped. The next batch's offsets begin right after it, so a batch never
 * ends in offsets that no consumer can reach.
 */
export function lastMessageIndex({
  itemCount,
  skipped,
}: {
  readonly itemCount: number;
  readonly skipped: ArrayLike<number>;
}): number {
  let last = itemCount - 1;
  for (let i = skipped.length - 1; i >= 0 && skipped[i] === last; i--) last -= 1;
  return last;
}

declare const offsetBrand: unique symbol;

/** A message's position in the log. Later messages have greater offsets, and there may be gaps. */
export type Offset = number & { readonly [offsetBrand]: true };

/** Before the first message of any log. */
export const BEFORE_FIRST = -1 as Offset;

/** The offset of the item at `index` of a batch whose first item has `first`. */
export function offsetAt(first: Offset, index: number): Offset {
  return (first + index) as Offset;
}
