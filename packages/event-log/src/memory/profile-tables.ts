import { BEFORE_FIRST, type Offset } from "../message/offset.js";
import type { PendingMessage, ProfileCommit, ProfileRecord } from "../ports/profiles.js";

/** The contents of the profile store. A commit changes them at once. */
export class ProfileTables {
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
