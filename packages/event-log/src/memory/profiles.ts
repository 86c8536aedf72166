import { BEFORE_FIRST, type Offset } from "../message/batch.js";
import type {
  MemberRecord,
  PendingMessage,
  ProfileCommit,
  ProfileRecord,
  ProfileStore,
} from "../ports/profiles.js";
import { readPosition, writePosition } from "../rules/page-cursor.js";

/** The contents of the profile store. A commit changes them at once. */
class ProfileTables {
  cursor: Offset = BEFORE_FIRST;
  readonly profiles = new Map<number, ProfileRecord & { readonly dueMs?: number }>();
  readonly identities = new Map<string, number>();
  readonly documents = new Map<string, string>();
  /** The outbox: messages that are not published yet. */
  pending: PendingMessage[] = [];
  readonly #members = new Map<string, Map<number, number>>();
  readonly #held = new Map<string, Set<number>>();

  /** The members of a definition, and since when. */
  membersOf(definitionId: string): ReadonlyMap<number, number> {
    return this.#members.get(definitionId) ?? new Map();
  }

  heldOf(definitionId: string): ReadonlySet<number> {
    return this.#held.get(definitionId) ?? new Set();
  }

  commit(change: ProfileCommit): void {
    this.#changeProfiles(change);
    setOrDelete(this.identities, change.identities);
    this.#changeMembers(change);
    this.#changeHeld(change);
    for (const definitionId of change.removedDefinitions ?? []) {
      this.#members.delete(definitionId);
      this.#held.delete(definitionId);
    }
    this.#changeOutbox(change);
    setOrDelete(this.documents, change.documents);
    this.cursor = change.cursor ?? this.cursor;
  }

  #changeProfiles({ removedProfiles, profiles, seen }: ProfileCommit): void {
    for (const number of removedProfiles ?? []) this.profiles.delete(number);
    for (const profile of profiles ?? []) this.profiles.set(profile.number, profile);
    for (const [number, firstMs, lastMs] of seen ?? []) {
      const profile = this.profiles.get(number);
      if (profile === undefined) continue;
      const firstSeenMs = Math.min(profile.firstSeenMs, firstMs);
      const lastSeenMs = Math.max(profile.lastSeenMs, lastMs);
      this.profiles.set(number, { ...profile, firstSeenMs, lastSeenMs });
    }
  }

  #changeMembers({ members }: ProfileCommit): void {
    for (const [definitionId, profile, sinceMs] of members ?? []) {
      const ofDefinition = this.#members.get(definitionId) ?? new Map<number, number>();
      this.#members.set(definitionId, ofDefinition);
      if (sinceMs === undefined) ofDefinition.delete(profile);
      else ofDefinition.set(profile, sinceMs);
    }
  }

  #changeHeld({ held }: ProfileCommit): void {
    for (const [definitionId, profile, isHeld] of held ?? []) {
      const ofDefinition = this.#held.get(definitionId) ?? new Set<number>();
      this.#held.set(definitionId, ofDefinition);
      if (isHeld) ofDefinition.add(profile);
      else ofDefinition.delete(profile);
    }
  }

  #changeOutbox({ withdrawn, publishedUpTo = -1, pending }: ProfileCommit): void {
    const gone = new Set(withdrawn);
    this.pending = this.pending.filter(({ seq, profile }) => seq > publishedUpTo && !gone.has(profile));
    this.pending.push(...(pending ?? []));
  }
}

/** Entries without a value are deleted. */
function setOrDelete<Value>(
  map: Map<string, Value>,
  entries: Iterable<readonly [key: string, value: Value | undefined]> = [],
): void {
  for (const [key, value] of entries) {
    if (value === undefined) map.delete(key);
    else map.set(key, value);
  }
}

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
