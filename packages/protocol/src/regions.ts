/** The regions that can be configured. Without one, the collector's keys, pages and logs name no region. */
export const REGIONS = ["oregon", "dublin"] as const;
export type Region = (typeof REGIONS)[number];
/** The region of a collector that knows the other regions' URLs but is not told its own. */
export const DEFAULT_REGION: Region = "oregon";

/** The default URL of a collector. */
export const LOCAL_COLLECTOR_URL = "http://127.0.0.1:8787";

/** The prefix of write keys if no region is configured. */
const NEUTRAL_PREFIX = "wk";

/** The prefix of a new write key: its region's name and `_`, or `wk_` if no region is configured. */
export function writeKeyPrefix(region: Region | undefined): string {
  return `${region ?? NEUTRAL_PREFIX}_`;
}

/**
 * The region that a write key names; undefined if it names none. Keys name their region so that a collector that does not
 * know a key can still tell the client that it is the wrong region.
 */
export function regionOfWriteKey(writeKey: string): Region | undefined {
  const [prefix] = writeKey.split("_", 1);
  return writeKey !== prefix && isRegion(prefix) ? prefix : undefined;
}

export function isRegion(value: unknown): value is Region {
  return value === "oregon" || value === "dublin";
}

/** The source of the messages that audiences and computed traits send. */
export const AUDIENCE_SOURCE_ID = "src_audiences";

/** The source of the messages about incidents, and its name. Destinations connect to it as to any other. */
export const INCIDENT_SOURCE_ID = "sluice";

/** Whether the collector itself makes the messages of a source. Such a source has no write keys, and its messages are about no user's behaviour. */
export function isBuiltInSource(sourceId: string): boolean {
  return sourceId === AUDIENCE_SOURCE_ID || sourceId === INCIDENT_SOURCE_ID;
}
