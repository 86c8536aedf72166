export interface UsageDay {
  /** `2026-11-21`, UTC. */
  readonly day: string;
  readonly accepted: number;
  readonly filtered: number;
  readonly delivered: number;
}

/** Counted in the transactions that append and settle. */
export interface UsageCounters {
  /** Newest first, at most 90. */
  days(sourceId: string): Promise<readonly UsageDay[]>;
}
