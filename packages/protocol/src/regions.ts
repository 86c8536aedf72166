/** The named regions. A collector that is told of none has none: its keys, pages and logs name no region. */
export const REGIONS = ["oregon", "dublin"] as const;
export type Region = (typeof REGIONS)[number];
/** The region of a collector that is told where regions are, but not which of them it is. */
export const DEFAULT_REGION: Region = "oregon";

/** Where a collector listens when nothing else is said. */
export const LOCAL_COLLECTOR_URL = "http://127.0.0.1:8787";

/** How write keys begin that were made where no region is configured. */
const NEUTRAL_PREFIX = "wk";

/** What a new write key begins with, `_` included: its region's name, or `wk_` where no region is configured. */
export function writeKeyPrefix(region: Region | undefined): string {
  return `${region ?? NEUTRAL_PREFIX}_`;
}

/**
 * The region that a write key was made in; undefined for a key that does not say. Where regions are configured, keys begin with
 * theirs, so that a collector without a record of a key can still tell a client that it is the wrong region.
 */
export function regionOfWriteKey(writeKey: string): Region | undefined {
  const [prefix] = writeKey.split("_", 1);
  return writeKey !== prefix && isRegion(prefix) ? prefix : undefined;
}

export function isRegion(value: unknown): value is Region {
  return value === "oregon" || value === "dublin";
}
