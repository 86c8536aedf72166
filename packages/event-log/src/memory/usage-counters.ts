import type { FinalState } from "../ports/consumers.js";
import type { UsageCounters, UsageDay } from "../ports/usage.js";
import { dayOf } from "../rules/usage-day.js";

const DAYS_GIVEN = 90;

export interface MemoryUsageCounters extends UsageCounters {
  accepted(sourceId: string, atMs: number, messages: number): void;
  settled(sourceId: string, atMs: number, state: FinalState): void;
  clear(): void;
}

export function memoryUsageCounters(): MemoryUsageCounters {
  const bySource = new Map<string, Map<string, { accepted: number; filtered: number; delivered: number }>>();
  const dayFor = (sourceId: string, atMs: number) => {
    const days = bySource.get(sourceId) ?? new Map();
    bySource.set(sourceId, days);
    const day = dayOf(atMs);
    const counts = days.get(day) ?? { accepted: 0, filtered: 0, delivered: 0 };
    days.set(day, counts);
    return counts;
  };
  return {
    accepted(sourceId, atMs, messages) {
      dayFor(sourceId, atMs).accepted += messages;
    },
    settled(sourceId, atMs, state) {
      if (state === "filtered" || state === "delivered") dayFor(sourceId, atMs)[state] += 1;
    },
    clear: () => bySource.clear(),
    async days(sourceId): Promise<readonly UsageDay[]> {
      return [...(bySource.get(sourceId) ?? [])]
        .map(([day, counts]) => ({ day, ...counts }))
        .sort((a, b) => (a.day < b.day ? 1 : -1))
        .slice(0, DAYS_GIVEN);
    },
  };
}
