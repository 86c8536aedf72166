export interface UsageDay {
  /** `2026-11-21`, UTC. */
  readonly day: string;
  readonly accepted: number;
  readonly filtered: number;
  readonly delivered: number;
}

/** Counts of messages per source and UTC day, updated in the transactions that append and settle. */
export interface UsageCounters {
  /** Newest day first, at most 90. Rejects with a `StoreError`: `storage_unavailable` or `data_damaged`. */
  days(sourceId: string): Promise<readonly UsageDay[]>;
}
