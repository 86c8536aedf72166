/**
 * The port under audiences and computed traits: profiles, the ids that they answer to, who is a member of what, and
 * an outbox of messages for the log. A store of its own, apart from the log's: what one chunk of the log (or a moment
 * in time) changes is committed together with the cursor, so after a crash nothing is counted twice and nothing is missed.
 *
 * Profiles are opaque JSON here. They are numbered in the order of their making; numbers are never used again.
 */
import type { Offset } from "../message/offset.js";
import type { Page, PageRequest } from "./page.js";

/** What one profile holds at most. What comes beyond is left out and counted. */
export const PROFILE_LIMITS = {
  /** Ids that it answers to, its own included. */
  ids: 500,
  traits: 1_000,
  /** Bytes of the JSON of its ids and traits together: 256 KB. */
  bytes: 256 * 1_024,
} as const;

export interface ProfileRecord {
  readonly number: number;
  /** When its first and its latest message were made: beside the body, since they change with each message. */
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
  /** JSON. */
  readonly body: string;
}

/** A span of time in which messages of a profile were made. */
export type Seen = readonly [profile: number, firstMs: number, lastMs: number];

/** A message in the outbox: committed with the change that caused it, published to the log after that commit, then removed. */
export interface PendingMessage {
  /** Ascending, never used again: the message's id is made of it, so a second append is known as a duplicate. */
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

/** Everything that one step changed; stored in one transaction. */
export interface ProfileCommit {
  /** Messages of the log at or before it are counted. */
  readonly cursor?: Offset;
  readonly profiles?: readonly (ProfileRecord & {
    /** When it is to be looked at although nothing happens. */
    readonly dueMs?: number;
  })[];
  /** Profiles that stay as they are, but were seen: the times between which they were seen are widened by these. */
  readonly seen?: readonly Seen[];
  /** Profiles that are no more. What else is stored of them is named in `identities`, `members` and `held`. */
  readonly removedProfiles?: readonly number[];
  /** An id, and the profile that it stands for; undefined: for none any more. */
  readonly identities?: readonly (readonly [identity: string, profile: number | undefined])[];
  /** Members that came (with the time) or went (undefined). */
  readonly members?: readonly (readonly [
    definitionId: string,
    profile: number,
    sinceMs: number | undefined,
  ])[];
  /** Profiles of which a definition has something to send later, or no more. */
  readonly held?: readonly (readonly [definitionId: string, profile: number, isHeld: boolean])[];
  /** Definitions of which members and what is held are forgotten. */
  readonly removedDefinitions?: readonly string[];
  readonly pending?: readonly PendingMessage[];
  /** Messages up to this `seq` are published: they are in the log, and leave the outbox. */
  readonly publishedUpTo?: number;
  /** Pending messages of these profiles are withdrawn. */
  readonly withdrawn?: readonly number[];
  /** Small JSON documents by name; undefined removes one. */
  readonly documents?: readonly (readonly [name: string, json: string | undefined])[];
  /** To be synced to disk with all commits before it, although nothing is pending. */
  readonly isSynced?: true;
}

export interface ProfileStore {
  /** The cursor of the last commit that had one; `BEFORE_FIRST` of a new store. */
  cursor(): Promise<Offset>;
  /** All documents, by name. */
  documents(): Promise<ReadonlyMap<string, string>>;
  /** The profiles that ids stand for; ids that stand for none are left out. */
  resolve(identities: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /**
   * Profiles by number; those that do not exist are left out. Of a profile that an older version let grow far beyond
   * `PROFILE_LIMITS` the ids and traits that came first are kept, and stored so.
   */
  load(numbers: readonly number[]): Promise<readonly ProfileRecord[]>;
  /** Profiles in order, after a number: at most so many, and no more after so many bytes of bodies. */
  scan(
    after: number,
    max: { readonly profiles: number; readonly bytes: number },
  ): Promise<{ readonly records: readonly ProfileRecord[]; readonly isEnd: boolean }>;
  count(): Promise<number>;
  /** Profiles whose time has come, earliest first. They stay due until a commit says otherwise. */
  due(nowMs: number, limit: number): Promise<readonly number[]>;
  /** The earliest time at which a profile is due. */
  nextDueMs(): Promise<number | undefined>;
  /** Members by profile number. */
  members(definitionId: string, page: PageRequest): Promise<Page<MemberRecord>>;
  /** Profiles of which a definition has something to send later, in order, after a number. */
  held(definitionId: string, limit: number): Promise<readonly number[]>;
  /** Pending messages by `seq`, at most `limit`. */
  pending(limit: number): Promise<readonly PendingMessage[]>;
  /**
   * Resolves when the commit is made; when it has `pending` messages, or says `isSynced`, only when it is synced to disk. Any other
   * may be lost in a power cut, with all that came after it: the store is then as it was before.
   */
  commit(change: ProfileCommit): Promise<void>;
  /** Rewrites the files so that what was removed is in none of their bytes. */
  compact(): Promise<void>;
  close(): Promise<void>;
}
