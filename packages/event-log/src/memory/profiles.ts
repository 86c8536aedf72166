import { BEFORE_FIRST, type Offset } from "../message/offset.js";
import type {
  MemberRecord,
  PendingMessage,
  ProfileCommit,
  ProfileRecord,
  ProfileStore,
} from "../ports/profiles.js";
import { readPosition, writePosition } from "../rules/page-cursor.js";

/** The test double of the profile store. */
export function memoryProfileStore(): ProfileStore {
  let cursor: Offset = BEFORE_FIRST;
  const profiles = new Map<number, ProfileRecord & { readonly dueMs?: number }>();
  const identities = new Map<string, number>();
  const members = new Map<string, Map<number, number>>();
  const held = new Map<string, Set<number>>();
  const documents = new Map<string, string>();
  let pending: PendingMessage[] = [];

  const inOrder = (numbers: Iterable<number>): number[] => [...numbers].sort((a, b) => a - b);

  const applyProfiles = (change: ProfileCommit): void => {
    for (const number of change.removedProfiles ?? []) profiles.delete(number);
    for (const profile of change.profiles ?? []) profiles.set(profile.number, profile);
    for (const [number, firstMs, lastMs] of change.seen ?? []) {
      const profile = profiles.get(number);
      if (profile === undefined) continue;
      const firstSeenMs = Math.min(profile.firstSeenMs, firstMs);
      profiles.set(number, { ...profile, firstSeenMs, lastSeenMs: Math.max(profile.lastSeenMs, lastMs) });
    }
    for (const [identity, profile] of change.identities ?? []) {
      if (profile === undefined) identities.delete(identity);
      else identities.set(identity, profile);
    }
  };

  const applyMemberships = (change: ProfileCommit): void => {
    for (const [definitionId, profile, sinceMs] of change.members ?? []) {
      const ofDefinition = members.get(definitionId) ?? new Map<number, number>();
      members.set(definitionId, ofDefinition);
      if (sinceMs === undefined) ofDefinition.delete(profile);
      else ofDefinition.set(profile, sinceMs);
    }
    for (const [definitionId, profile, isHeld] of change.held ?? []) {
      const ofDefinition = held.get(definitionId) ?? new Set<number>();
      held.set(definitionId, ofDefinition);
      if (isHeld) ofDefinition.add(profile);
      else ofDefinition.delete(profile);
    }
    for (const definitionId of change.removedDefinitions ?? []) {
      members.delete(definitionId);
      held.delete(definitionId);
    }
  };

  const apply = (change: ProfileCommit): void => {
    applyProfiles(change);
    applyMemberships(change);
    const withdrawn = new Set(change.withdrawn);
    const publishedUpTo = change.publishedUpTo ?? -1;
    pending = pending.filter((message) => message.seq > publishedUpTo && !withdrawn.has(message.profile));
    pending.push(...(change.pending ?? []));
    for (const [name, json] of change.documents ?? []) {
      if (json === undefined) documents.delete(name);
      else documents.set(name, json);
    }
    if (change.cursor !== undefined) cursor = change.cursor;
  };

  return {
    cursor: async () => cursor,
    documents: async () => new Map(documents),
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
    scan: async (after, max) => {
      const rest = inOrder(profiles.keys()).filter((number) => number > after);
      const records: ProfileRecord[] = [];
      let bytes = 0;
      for (const number of rest.slice(0, max.profiles)) {
        const record = profiles.get(number);
        if (record === undefined || bytes >= max.bytes) break;
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
    members: async (definitionId, { limit, cursor: after }) => {
      const from = readPosition(after) ?? Number.NEGATIVE_INFINITY;
      const ofDefinition = members.get(definitionId) ?? new Map<number, number>();
      const rest = inOrder(ofDefinition.keys()).filter((number) => number > from);
      const items: MemberRecord[] = rest
        .slice(0, limit)
        .map((profile) => ({ profile, sinceMs: ofDefinition.get(profile) ?? 0 }));
      const last = items.at(-1);
      return rest.length > limit && last !== undefined
        ? { items, nextCursor: writePosition(last.profile) }
        : { items };
    },
    held: async (definitionId, limit) => inOrder(held.get(definitionId) ?? []).slice(0, limit),
    pending: async (limit) => pending.slice(0, limit),
    commit: async (change) => apply(change),
    compact: async () => {},
    close: async () => {},
  };
}

function withoutDue({ number, firstSeenMs, lastSeenMs, body }: ProfileRecord): ProfileRecord {
  return { number, firstSeenMs, lastSeenMs, body };
}
