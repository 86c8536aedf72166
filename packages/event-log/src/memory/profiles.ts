import type { MemberRecord, ProfileRecord, ProfileStore } from "../ports/profiles.js";
import { readPosition, writePosition } from "../rules/page-cursor.js";
import { ProfileTables } from "./profile-tables.js";

/** The test double of the profile store. */
export function memoryProfileStore(): ProfileStore {
  const tables = new ProfileTables();
  const { profiles, identities } = tables;
  return {
    cursor: async () => tables.cursor,
    documents: async () => new Map(tables.documents),
    resolve: async (wanted) => {
      const found = new Map<string, number>();
      for (const identity of wanted) {
        const number = identities.get(identity);
        if (number !== undefined) found.set(identity, number);
      }
      return found;
    },
    load: async (numbers) =>
      numbers.flatMap((number) => {
        const record = profiles.get(number);
        return record === undefined ? [] : [withoutDue(record)];
      }),
    scan: async (after, { profiles: most, bytes: mostBytes, isDescending = false }) => {
      const numbers = ascending(profiles.keys());
      const rest = isDescending
        ? numbers.filter((number) => number < after).reverse()
        : numbers.filter((number) => number > after);
      const records: ProfileRecord[] = [];
      let bytes = 0;
      for (const number of rest.slice(0, most)) {
        const record = profiles.get(number);
        if (record === undefined || bytes >= mostBytes) break;
        records.push(withoutDue(record));
        bytes += record.body.length;
      }
      return { records, isEnd: records.length === rest.length };
    },
    count: async () => profiles.size,
    due: async (nowMs, limit) =>
      [...profiles.values()]
        .filter((profile) => profile.dueMs !== undefined && profile.dueMs <= nowMs)
        .sort((a, b) => (a.dueMs ?? 0) - (b.dueMs ?? 0) || a.number - b.number)
        .slice(0, limit)
        .map((profile) => profile.number),
    nextDueMs: async () => {
      let first: number | undefined;
      for (const { dueMs } of profiles.values())
        if (dueMs !== undefined && (first === undefined || dueMs < first)) first = dueMs;
      return first;
    },
    members: async (definitionId, { limit, cursor }) => {
      const after = readPosition(cursor) ?? Number.NEGATIVE_INFINITY;
      const members = tables.membersOf(definitionId);
      const rest = ascending(members.keys()).filter((number) => number > after);
      const items: MemberRecord[] = rest
        .slice(0, limit)
        .map((profile) => ({ profile, sinceMs: members.get(profile) ?? 0 }));
      const last = items.at(-1);
      return rest.length > limit && last !== undefined
        ? { items, nextCursor: writePosition(last.profile) }
        : { items };
    },
    held: async (definitionId, limit) => ascending(tables.heldOf(definitionId)).slice(0, limit),
    pending: async (limit) => tables.pending.slice(0, limit),
    commit: async (change) => tables.commit(change),
    compact: async () => {},
    close: async () => {},
  };
}

function withoutDue({ number, firstSeenMs, lastSeenMs, body }: ProfileRecord): ProfileRecord {
  return { number, firstSeenMs, lastSeenMs, body };
}

function ascending(numbers: Iterable<number>): number[] {
  return [...numbers].sort((a, b) => a - b);
}
