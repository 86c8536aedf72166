/** The named regions. `oregon` is the default. */
export const REGIONS = ["oregon", "dublin"] as const;
export type Region = (typeof REGIONS)[number];
export const DEFAULT_REGION: Region = "oregon";

/** Where a collector listens when nothing else is said. */
export const LOCAL_COLLECTOR_URL = "http://127.0.0.1:8787";

export function isRegion(value: unknown): value is Region {
  return value === "oregon" || value === "dublin";
}
