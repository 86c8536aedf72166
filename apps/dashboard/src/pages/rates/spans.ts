import type { RateSpan } from "@sluice/control-api";

/** The spans of rates: their names, lengths and the time between two points. */
export const SPANS: Readonly<
  Record<RateSpan, { readonly label: string; readonly ms: number; readonly every: string }>
> = {
  "5m": { label: "5 min", ms: 300_000, every: "2 s" },
  "1h": { label: "1 hour", ms: 3_600_000, every: "20 s" },
  "24h": { label: "24 hours", ms: 86_400_000, every: "5 min" },
};

/** For a collector that started less than this ago, the charts begin with the shortest span. */
const RECENT_START_MS = 15 * 60_000;

export function firstSpan(startedAtMs: number, nowMs: number): RateSpan {
  return nowMs - startedAtMs < RECENT_START_MS ? "5m" : "1h";
}
