const PREFIX = "owner.";

/** The key of a partition's lease. */
export function ownerKey(partition: number): string {
  return `${PREFIX}${partition}`;
}
