/**
 * The storage of audiences and computed traits: profiles, the identities that point to them, memberships, and an outbox of messages
 * for the log. It is separate from the log's store. Each unit of work commits its changes together with its cursor, so a crash never
 * counts a message twice and never misses one.
 *
 * A profile's body is opaque JSON. Profile numbers ascend and are never reused.
 */
import type { Offset } from "../message/batch.js";
import type { Page, PageRequest } from "./documents.js";
import type { Snapshots } from "./snapshots.js";

/** Limits of one profile. Whatever exceeds them is left out and counted. */
export const PROFILE_LIMITS = {
  /** Identities, its own included. */
  ids: 500,
  traits: 1_000,
  /** Bytes of the JSON of its ids and traits together: 256 KB. */
  bytes: 256 * 1_024,
} as const;

export interface ProfileRecord {
  readonly number: number;
  /** Times of its first and latest message. Not in the body, because they change with each message. */
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
  /** JSON. */
  readonly body: string;
}

/** The times of the first and last message of a profile in one unit of work. */
export type Seen = readonly [profile: number, firstMs: number, lastMs: number];

/** A message in the outbox: committed with the change that caused it, published to the log after that commit, then removed. */
export interface PendingMessage {
  /** Ascending, never reused. The message id contains it, so a second append is a duplicate. */
  readonly seq: number;
  readonly profile: number;
  readonly destinationIds: readonly string[];
  /** Its JSON, `messageId` included. */
  readonly message: string;
}

export interface MemberRecord {
  readonly profile: number;
  readonly sinceMs: number;
}

/** Everything that one unit of work changed; stored in one transaction. */
export interface ProfileCommit {
  /** Messages of the log at or before it are counted. Absent: unchanged. */
  readonly cursor?: Offset;
  readonly profiles?: readonly (ProfileRecord & {
    /** When to evaluate the profile again although no message arrives. */
    readonly dueMs?: number;
  })[];
  /** Profiles whose only change is that the time between their first and last message grows to include these times. */
  readonly seen?: readonly Seen[];
  /** Profiles to remove. `identities`, `members` and `held` must remove the rest of their data. */
  readonly removedProfiles?: readonly number[];
  /** An identity and the profile that it points to; undefined removes it. */
  readonly identities?: readonly (readonly [identity: string, profile: number | undefined])[];
  /** New members, with the time they entered, and members to remove (undefined). */
  readonly members?: readonly (readonly [
    definitionId: string,
    profile: number,
    sinceMs: number | undefined,
  ])[];
  /** Profiles for which a definition holds back something to send later (true), or no longer does (false). */
  readonly held?: readonly (readonly [definitionId: string, profile: number, isHeld: boolean])[];
  /** Definitions whose members and held profiles are removed. */
  readonly removedDefinitions?: readonly string[];
  /** Messages to add to the outbox. */
  readonly pending?: readonly PendingMessage[];
  /** Messages up to this `seq` are published: they are in the log, and leave the outbox. */
  readonly publishedUpTo?: number;
  /** Profiles whose pending messages are removed from the outbox. */
  readonly withdrawn?: readonly number[];
  /** Small JSON documents by name; undefined removes one. */
  readonly documents?: readonly (readonly [name: string, json: string | undefined])[];
  /** Sync this commit, and all before it, to disk even if it adds nothing to the outbox. */
  readonly isSynced?: true;
}

/**
 * Every method rejects with `StorageUnavailable` when the file cannot be used, was set aside because it is damaged, or is closed. A
 * commit that rejects changed nothing.
 */
export interface ProfileStore {
  /** The cursor of the last commit that had one; `BEFORE_FIRST` for a new store. */
  cursor(): Promise<Offset>;
  /** All documents, by name. */
  documents(): Promise<ReadonlyMap<string, string>>;
  /** Profile numbers by identity. Unknown identities are left out. */
  resolve(identities: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Profiles by number. Unknown numbers are left out. */
  load(numbers: readonly number[]): Promise<readonly ProfileRecord[]>;
  /**
   * Profiles in the order of their numbers, from the first one after `after`; with `isDescending` in the opposite order, from the
   * first one before `after`. Stops at `max.profiles`, or after `max.bytes` of bodies.
   */
  scan(
    after: number,
    max: { readonly profiles: number; readonly bytes: number; readonly isDescending?: boolean },
  ): Promise<{ readonly records: readonly ProfileRecord[]; readonly isEnd: boolean }>;
  count(): Promise<number>;
  /** Profiles that are due, earliest first. They stay due until a commit changes that. */
  due(nowMs: number, limit: number): Promise<readonly number[]>;
  /** The earliest time at which a profile is due; undefined if none is. */
  nextDueMs(): Promise<number | undefined>;
  /** Members in the order of their profile numbers. */
  members(definitionId: string, page: PageRequest): Promise<Page<MemberRecord>>;
  /** Profiles for which a definition holds back something, in the order of their numbers, at most `limit`. */
  held(definitionId: string, limit: number): Promise<readonly number[]>;
  /** Pending messages by `seq`, at most `limit`. */
  pending(limit: number): Promise<readonly PendingMessage[]>;
  /**
   * Resolves when the change is committed. A commit with `pending` messages or `isSynced` is also synced to disk. A power cut may lose
   * other commits, always the latest ones: the store is then as it was before them.
   */
  commit(change: ProfileCommit): Promise<void>;
  /** Resolves when no byte of removed data is left in the files. */
  compact(): Promise<void>;
  /** Absent: the store is not a file that can be backed up. */
  readonly snapshots?: Snapshots;
  close(): Promise<void>;
}
