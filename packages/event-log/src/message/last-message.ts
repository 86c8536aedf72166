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
