import type { Offset, PendingMessage, ProfileCommit, ProfileStore, Seen } from "@sluice/event-log";
import type { AspectProgress, DefinitionState } from "../definitions/definition-state.js";
import type { BoundedMap } from "./bounded-map.js";
import { heapBytesOf } from "./heap-bytes.js";
import { decodeProfile, encodeProfile, newProfile, type Profile } from "./profile.js";
import type { LeftOutOfProfile } from "./profile-bounds.js";
import { SCANNED_BYTES } from "./scanned-bytes.js";
import type { SetAside } from "./set-aside.js";

/** What is numbered, and never used again. */
export interface Numbers {
  /** Of this store: in the ids of messages, so that a store that was begun anew does not repeat them. */
  readonly nonce: string;
  nextProfile: number;
  nextSeq: number;
  nextAspect: number;
}

/**
 * What the profiles of a step may take of the heap, about, in bytes. When that is reached no more are fetched: the rest is left to the
 * next step.
 */
const STEP_BYTES = 16 * 1_024 * 1_024;
/** So many are fetched in any case: what a few messages need, so that every step gets on. */
const LEAST_FETCHED = 8;
/** An id in the memory of ids: its entry beside its text. */
const IDENTITY_BYTES = 100;

/** What is remembered between steps; nothing of it is needed, it spares reading. */
export interface Remembered {
  readonly profiles: BoundedMap<number, { readonly profile: Profile; readonly bytes: number }>;
  readonly identities: BoundedMap<string, number>;
}

/**
 * One step: profiles are fetched, changed in memory, and everything that changed is committed at once. What a step did not
 * fetch it cannot see. After a commit that failed nothing of the step may be used any more.
 */
export class Step {
  /** The time that is evaluated at. */
  nowMs: number;
  readonly owed: PendingMessage[] = [];
  /** Messages that asked for ids to be joined that were not, by source. */
  readonly refusedJoins = new Map<string, number>();
  readonly #store: ProfileStore;
  readonly #remembered: Remembered;
  readonly #numbers: Numbers;
  readonly #profiles = new Map<number, Profile>();
  readonly #changed = new Set<Profile>();
  readonly #seen = new Map<number, Seen>();
  readonly #identities = new Map<string, number>();
  /** Scanned: looked at once, so they do not push out of memory those that messages touch. */
  readonly #passing = new Set<number>();
  readonly #identityChanges = new Map<string, number | undefined>();
  readonly #removed = new Set<number>();
  readonly #members = new Map<string, readonly [string, number, number | undefined]>();
  readonly #held = new Map<string, readonly [string, number, boolean]>();
  readonly #documents = new Map<string, string | undefined>();
  readonly #states = new Set<DefinitionState>();
  /** What was left out of profiles that are full. */
  readonly leftOut: LeftOutOfProfile = { traits: 0, ids: 0 };
  /** Messages that were given up. */
  readonly setAside: SetAside[] = [];
  /** Fetched, so many bytes of the heap each. */
  readonly #bytes = new Map<number, number>();
  #fetchedBytes = 0;
  /** For which there was no room. */
  readonly #unfetched = new Set<number>();
  readonly #removedDefinitions: string[] = [];
  readonly #withdrawn: number[] = [];
  #areNumbersChanged = false;
  #cursor: Offset | undefined;

  constructor(store: ProfileStore, remembered: Remembered, numbers: Numbers, nowMs: number) {
    this.#store = store;
    this.#remembered = remembered;
    this.#numbers = numbers;
    this.nowMs = nowMs;
  }

  /** Makes the profiles that these ids stand for visible to `find`. */
  async fetch(identities: Iterable<string>): Promise<void> {
    await this.resolve(new Set(identities));
    await this.fetchNumbers(this.#identities.values());
  }

  /** Makes the numbers of the profiles that these ids stand for visible to `numberOf`. */
  async resolve(identities: Iterable<string>): Promise<void> {
    const unknown: string[] = [];
    for (const identity of identities) {
      const known = this.#remembered.identities.get(identity);
      if (known === undefined) unknown.push(identity);
      else this.#identities.set(identity, known);
    }
    if (unknown.length > 0) {
      for (const [identity, number] of await this.#store.resolve(unknown))
        this.#identities.set(identity, number);
    }
  }

  numberOf(identity: string): number | undefined {
    return this.#identities.get(identity);
  }

  /** A message was made by a profile then and says nothing else of it: for that it need not be fetched. */
  see(number: number, atMs: number): void {
    const profile = this.#profiles.get(number) ?? this.#remembered.profiles.get(number)?.profile;
    if (profile !== undefined) {
      profile.firstSeenMs = Math.min(profile.firstSeenMs, atMs);
      profile.lastSeenMs = Math.max(profile.lastSeenMs, atMs);
    }
    const [, firstMs, lastMs] = this.#seen.get(number) ?? [number, atMs, atMs];
    this.#seen.set(number, [number, Math.min(firstMs, atMs), Math.max(lastMs, atMs)]);
  }

  /** Makes profiles visible to `get`, in this order, as many as there is room for: see `isUnfetched`. */
  async fetchNumbers(numbers: Iterable<number>): Promise<void> {
    for (const number of new Set(numbers)) {
      if (this.#profiles.has(number)) continue;
      if (this.#fetchedBytes > STEP_BYTES && this.#profiles.size >= LEAST_FETCHED) {
        this.#unfetched.add(number);
        continue;
      }
      const known = this.#remembered.profiles.get(number);
      if (known !== undefined) this.#fetched(number, known.profile, known.bytes);
      else {
        const [record] = await this.#store.load([number]);
        if (record !== undefined) this.#fetched(number, decodeProfile(record), heapBytesOf(record.body));
      }
    }
  }

  #fetched(number: number, profile: Profile, bytes: number): void {
    this.#profiles.set(number, profile);
    this.#bytes.set(number, bytes);
    this.#fetchedBytes += bytes;
  }

  /** Whether a profile was asked for when there was no room for it any more. */
  isUnfetched(number: number): boolean {
    return this.#unfetched.has(number);
  }

  /** The next profiles in order after a number, as many as there is room for, and whether they are the last. */
  async scan(after: number, limit: number): Promise<{ profiles: Profile[]; isEnd: boolean }> {
    const { records, isEnd } = await this.#store.scan(after, { profiles: limit, bytes: SCANNED_BYTES });
    const profiles = records.map((record) => {
      const { number } = record;
      const known = this.#profiles.get(number) ?? this.#remembered.profiles.get(number)?.profile;
      if (known === undefined) this.#passing.add(number);
      const profile = known ?? decodeProfile(record);
      this.#profiles.set(number, profile);
      return profile;
    });
    return { profiles, isEnd };
  }

  find(identity: string): Profile | undefined {
    const number = this.#identities.get(identity);
    return number === undefined ? undefined : this.get(number);
  }

  get(number: number): Profile | undefined {
    return this.#removed.has(number) ? undefined : this.#profiles.get(number);
  }

  create(identity: string, seenMs: number): Profile {
    const profile = newProfile(this.#numbers.nextProfile, identity, seenMs);
    this.#numbers.nextProfile += 1;
    this.#areNumbersChanged = true;
    this.#profiles.set(profile.number, profile);
    this.#changed.add(profile);
    this.point(identity, profile.number);
    return profile;
  }

  point(identity: string, number: number | undefined): void {
    if (number === undefined) this.#identities.delete(identity);
    else this.#identities.set(identity, number);
    this.#identityChanges.set(identity, number);
  }

  refuseJoin(sourceId: string): void {
    this.refusedJoins.set(sourceId, (this.refusedJoins.get(sourceId) ?? 0) + 1);
  }

  touch(profile: Profile): void {
    this.#changed.add(profile);
  }

  remove(profile: Profile): void {
    this.#removed.add(profile.number);
    this.#changed.delete(profile);
    for (const id of profile.memberships.keys()) {
      this.setMember(id, profile, undefined);
      this.setHeld(id, profile, false);
    }
    for (const id of profile.computed.keys()) this.setHeld(id, profile, false);
  }

  setMember(definitionId: string, profile: Profile, sinceMs: number | undefined): void {
    this.#members.set(`${profile.number} ${definitionId}`, [definitionId, profile.number, sinceMs]);
  }

  setHeld(definitionId: string, profile: Profile, isHeld: boolean): void {
    this.#held.set(`${profile.number} ${definitionId}`, [definitionId, profile.number, isHeld]);
  }

  /** The number of the next message, never given twice. */
  takeSeq(): number {
    this.#areNumbersChanged = true;
    return this.#numbers.nextSeq++;
  }

  takeAspectNumber(): number {
    this.#areNumbersChanged = true;
    return this.#numbers.nextAspect++;
  }

  get numbers(): Readonly<Numbers> {
    return this.#numbers;
  }

  stateChanged(state: DefinitionState): void {
    this.#states.add(state);
  }

  removeDefinition(id: string): void {
    this.#removedDefinitions.push(id);
    this.#documents.set(`definition:${id}`, undefined);
  }

  aspectChanged(number: number, progress: AspectProgress | undefined): void {
    this.#documents.set(`aspect:${number}`, progress === undefined ? undefined : JSON.stringify(progress));
  }

  /** Stores a small document with the step; undefined removes it. */
  putDocument(name: string, value: unknown): void {
    this.#documents.set(name, value === undefined ? undefined : JSON.stringify(value));
  }

  /** Takes back what is owed to destinations of a profile. */
  withdraw(number: number): void {
    this.#withdrawn.push(number);
  }

  /** Messages of the log at or before it are counted. */
  moveCursor(cursor: Offset): void {
    this.#cursor = cursor;
  }

  /** By number: so their pages are written in order. */
  #seenOnly(): Seen[] {
    for (const profile of this.#changed) this.#seen.delete(profile.number);
    for (const number of this.#removed) this.#seen.delete(number);
    return [...this.#seen.values()].sort((a, b) => a[0] - b[0]);
  }

  #encoded(profile: Profile): NonNullable<ProfileCommit["profiles"]>[number] {
    const { number, firstSeenMs, lastSeenMs, dueMs } = profile;
    const body = encodeProfile(profile);
    this.#bytes.set(number, heapBytesOf(body));
    return { number, firstSeenMs, lastSeenMs, body, ...(dueMs === undefined ? {} : { dueMs }) };
  }

  async commit(paidUpTo?: number): Promise<void> {
    const removedDefinitions = new Set(this.#removedDefinitions);
    for (const state of this.#states)
      if (!removedDefinitions.has(state.definition.id))
        this.#documents.set(`definition:${state.definition.id}`, JSON.stringify(state));
    if (this.#areNumbersChanged) this.#documents.set("numbers", JSON.stringify(this.#numbers));
    const change: ProfileCommit = {
      ...(this.#cursor === undefined ? {} : { cursor: this.#cursor }),
      ...(paidUpTo === undefined ? {} : { publishedUpTo: paidUpTo }),
      profiles: Array.from(this.#changed, (profile) => this.#encoded(profile)),
      seen: this.#seenOnly(),
      removedProfiles: [...this.#removed],
      identities: [...this.#identityChanges],
      members: [...this.#members.values()],
      held: [...this.#held.values()],
      removedDefinitions: this.#removedDefinitions,
      pending: this.owed,
      withdrawn: this.#withdrawn,
      documents: [...this.#documents],
    };
    await this.#store.commit(change);
    for (const [number, profile] of this.#profiles) {
      if (this.#removed.has(number)) this.#remembered.profiles.delete(number);
      else if (!this.#passing.has(number)) {
        const bytes = this.#bytes.get(number) ?? 0;
        this.#remembered.profiles.set(number, { profile, bytes }, bytes);
      }
    }
    for (const [identity, number] of this.#identities)
      this.#remembered.identities.set(identity, number, IDENTITY_BYTES + identity.length * 2);
    for (const [identity, number] of this.#identityChanges)
      if (number === undefined) this.#remembered.identities.delete(identity);
  }
}
