/** The named regions. `oregon` is the default. */
export const REGIONS = ["oregon", "dublin"] as const;
export type Region = (typeof REGIONS)[number];
export const DEFAULT_REGION: Region = "oregon";

/** Where a collector listens when nothing else is said. */
export const LOCAL_COLLECTOR_URL = "http://127.0.0.1:8787";

/**
 * The region that a write key was made in; undefined for a key that does not say. Keys begin with their region, so that a
 * collector that has never heard of a key can still tell a client that it came to the wrong region.
 */
export function regionOfWriteKey(writeKey: string): Region | undefined {
  const [prefix] = writeKey.split("_", 1);
  return writeKey !== prefix && isRegion(prefix) ? prefix : undefined;
}

export function isRegion(value: unknown): value is Region {
  return value === "oregon" || value === "dublin";
}
