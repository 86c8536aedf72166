import type { DeliveryStateView } from "@sluice/control-api";

export const SINCE = {
  "15m": { label: "Last 15 minutes", ms: 900_000 },
  "1h": { label: "Last hour", ms: 3_600_000 },
  "24h": { label: "Last 24 hours", ms: 86_400_000 },
  "7d": { label: "Last 7 days", ms: 604_800_000 },
} as const;

/** The filter of the deliveries page, as its address holds it. Empty: no restriction. */
export interface DeliveryFilter {
  readonly destination: string;
  /** Empty: failed and pending. */
  readonly state: DeliveryStateView | "";
  /** Part of the reason. */
  readonly error: string;
  readonly since: keyof typeof SINCE | "";
  /** Of a group: only with `destination`. */
  readonly cause: string;
}

export function filterIn(query: URLSearchParams): DeliveryFilter {
  const since = query.get("since");
  return {
    destination: query.get("destination") ?? "",
    state: (query.get("state") ?? "") as DeliveryStateView | "",
    error: query.get("error") ?? "",
    cause: query.has("destination") ? (query.get("cause") ?? "") : "",
    since: since !== null && Object.hasOwn(SINCE, since) ? (since as keyof typeof SINCE) : "",
  };
}
