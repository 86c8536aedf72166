/**
 * The place of a batch's last message in its body. The next batch's offsets begin right after it, so that a batch
 * never ends in offsets that no consumer can reach. -1 where all items are skipped.
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
