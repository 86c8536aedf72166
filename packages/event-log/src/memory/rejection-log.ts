import type { Identity } from "../message/identity.js";
import type { FinalState } from "../ports/consumers.js";
import type { UsageCounters, UsageDay } from "../ports/documents.js";
import type { Rejection, RejectionLog } from "../ports/rejections.js";
import { dayOf } from "../rules/in-wall-time.js";
import { readPosition, writePosition } from "../rules/page-cursor.js";
import { ofUsers } from "../rules/purging.js";

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

interface MemoryRejectionLog extends RejectionLog {
  /** Deletes the refused messages of these users. */
  purge(identities: readonly Identity[], requested: readonly Identity[]): void;
  clear(): void;
}

export function memoryRejectionLog(kept: number): MemoryRejectionLog {
  const rejections: { readonly number: number; readonly rejection: Rejection }[] = [];
  let next = 0;
  return {
    purge(identities, requested) {
      const isOfThem = ofUsers(identities, requested);
      const others = rejections.filter(({ rejection }) => !isOfThem(rejection));
      rejections.splice(0, rejections.length, ...others);
    },
    clear() {
      rejections.length = 0;
    },
    add(added) {
      for (const rejection of added) {
        rejections.push({ number: next, rejection });
        next += 1;
      }
      rejections.splice(0, Math.max(0, rejections.length - kept));
    },
    async find(query, page) {
      const position = readPosition(page.cursor) ?? Number.POSITIVE_INFINITY;
      const found = rejections
        .filter(
          ({ number, rejection }) =>
            number < position &&
            (query.messageId === undefined || rejection.messageId === query.messageId) &&
            (query.sourceId === undefined || rejection.sourceId === query.sourceId) &&
            (query.fromMs === undefined || rejection.receivedAtMs >= query.fromMs) &&
            (query.toMs === undefined || rejection.receivedAtMs < query.toMs),
        )
        .reverse();
      const given = found.slice(0, page.limit);
      const last = given.at(-1);
      const items = given.map(({ rejection }) => rejection);
      if (found.length <= given.length || last === undefined) return { items };
      return { items, nextCursor: writePosition(last.number) };
    },
  };
}
