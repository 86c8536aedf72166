import type { Offset, PendingMessage, ProfileCommit, ProfileStore, Seen } from "@sluice/event-log";
import type { AggregateProgress, DefinitionState } from "../definitions/definition-state.js";
import type { SetAside } from "./crash-marker.js";
import { FetchedProfiles, type ProfileCache } from "./fetched-profiles.js";
import type { LeftOutOfProfile } from "./profile.js";
import { encodeProfile, newProfile, type Profile } from "./profile.js";

/** Numbers that are never given twice. Stored as it is: the field names are a format. */
export interface Numbers {
  /** A prefix of message ids, new for each file, so that a file that was begun anew does not repeat ids. */
  readonly nonce: string;
  nextProfile: number;
  nextSeq: number;
  nextAspect: number;
}

/**
 * One unit of work: profiles are fetched and changed in memory, and all changes are committed at once. It sees only what it has
 * fetched. After its commit, or after a failure, it must not be used any more; after a failure the cache must be cleared too, because the
 * profiles in it were changed.
 */
export class UnitOfWork {
  /** The time at which profiles are evaluated. */
  nowMs: number;
  /** Messages to be published, in order. */
  readonly outbox: PendingMessage[] = [];
  /** Messages that asked for ids to be joined that were not, by source. */
  readonly refusedJoins = new Map<string, number>();
  /** Traits and ids that were left out because the profile is full. */
  readonly leftOut: LeftOutOfProfile = { traits: 0, ids: 0 };
  /** Messages that were given up. */
  readonly setAside: SetAside[] = [];
  readonly #store: ProfileStore;
  readonly #numbers: Numbers;
  readonly #fetched: FetchedProfiles;
  readonly #changed = new Set<Profile>();
  readonly #removed = new Set<number>();
  readonly #seen = new Map<number, Seen>();
  readonly #identityChanges = new Map<string, number | undefined>();
  readonly #members = new Map<string, readonly [string, number, number | undefined]>();
  readonly #held = new Map<string, readonly [string, number, boolean]>();
  readonly #documents = new Map<string, string | undefined>();
  readonly #states = new Set<DefinitionState>();
  readonly #removedDefinitions: string[] = [];
  readonly #withdrawn: number[] = [];
  #areNumbersChanged = false;
  #cursor: Offset | undefined;

  constructor(store: ProfileStore, cache: ProfileCache, numbers: Numbers, nowMs: number) {
    this.#store = store;
    this.#fetched = new FetchedProfiles(store, cache);
    this.#numbers = numbers;
    this.nowMs = nowMs;
  }

  // ── Reading ──

  /** Makes the profiles of these ids visible to `find`, as many as there is room for: see `isUnfetched`. */
  fetch(identities: Iterable<string>): Promise<void> {
    return this.#fetched.fetch(identities);
  }

  /** Makes the numbers of the profiles of these ids visible to `numberOf`. */
  resolve(identities: Iterable<string>): Promise<void> {
    return this.#fetched.resolve(identities);
  }

  /** Makes profiles visible to `get`, in this order, as many as there is room for: see `isUnfetched`. */
  fetchNumbers(numbers: Iterable<number>): Promise<void> {
    return this.#fetched.fetchNumbers(numbers);
  }

  /** Fetches profiles that are due, the earliest first. */
  async fetchDue(nowMs: number, limit: number): Promise<Iterable<Profile>> {
    return this.#fetchAll(await this.#store.due(nowMs, limit));
  }

  /** Fetches profiles for which a definition holds a change. */
  async fetchHeld(definitionId: string, limit: number): Promise<Iterable<Profile>> {
    return this.#fetchAll(await this.#store.held(definitionId, limit));
  }

  async #fetchAll(numbers: readonly number[]): Promise<Iterable<Profile>> {
    await this.#fetched.fetchNumbers(numbers);
    return numbers.flatMap((number) => this.get(number) ?? []);
  }

  /** Fetches the next profiles after a number; `isEnd`: there are no more. */
  scan(after: number, limit: number): Promise<{ profiles: Profile[]; isEnd: boolean }> {
    return this.#fetched.scan(after, limit);
  }

  /** Whether a profile was to be fetched when there was no room for it any more. */
  isUnfetched(number: number): boolean {
    return this.#fetched.isUnfetched(number);
  }

  numberOf(identity: string): number | undefined {
    return this.#fetched.numberOf(identity);
  }

  find(identity: string): Profile | undefined {
    const number = this.#fetched.numberOf(identity);
    return number === undefined ? undefined : this.get(number);
  }

  get(number: number): Profile | undefined {
    return this.#removed.has(number) ? undefined : this.#fetched.get(number);
  }

  get numbers(): Readonly<Numbers> {
    return this.#numbers;
  }

  // ── Profiles ──

  create(identity: string, seenMs: number): Profile {
    const profile = newProfile(this.#numbers.nextProfile, identity, seenMs);
    this.#numbers.nextProfile += 1;
    this.#areNumbersChanged = true;
    this.#fetched.create(profile);
    this.#changed.add(profile);
    this.point(identity, profile.number);
    return profile;
  }

  /** Makes an id stand for a profile; undefined: for none. */
  point(identity: string, number: number | undefined): void {
    this.#fetched.setNumber(identity, number);
    this.#identityChanges.set(identity, number);
  }

  /** The profile was changed. One that was removed stays removed. */
  touch(profile: Profile): void {
    if (!this.#removed.has(profile.number)) this.#changed.add(profile);
  }

  /** A profile sent a message at this time that changes nothing else: it need not be fetched for that. */
  see(number: number, atMs: number): void {
    const [, firstMs, lastMs] = this.#seen.get(number) ?? [number, atMs, atMs];
    const seen: Seen = [number, Math.min(firstMs, atMs), Math.max(lastMs, atMs)];
    this.#seen.set(number, seen);
    this.#extend(seen);
  }

  /** Makes the times of a profile in memory include those at which it was seen. */
  #extend([number, firstMs, lastMs]: Seen): void {
    const profile = this.#fetched.known(number);
    if (profile === undefined) return;
    profile.firstSeenMs = Math.min(profile.firstSeenMs, firstMs);
    profile.lastSeenMs = Math.max(profile.lastSeenMs, lastMs);
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

  /** `sinceMs`: since when it is a member; undefined: it is none. */
  setMember(definitionId: string, profile: Profile, sinceMs: number | undefined): void {
    this.#members.set(`${profile.number} ${definitionId}`, [definitionId, profile.number, sinceMs]);
  }

  setHeld(definitionId: string, profile: Profile, isHeld: boolean): void {
    this.#held.set(`${profile.number} ${definitionId}`, [definitionId, profile.number, isHeld]);
  }

  /** Withdraws the pending messages of a profile. */
  withdraw(number: number): void {
    this.#withdrawn.push(number);
  }

  refuseJoin(sourceId: string): void {
    this.refusedJoins.set(sourceId, (this.refusedJoins.get(sourceId) ?? 0) + 1);
  }

  // ── The engine's documents ──

  /** The number of the next message in the outbox. */
  takeSeq(): number {
    this.#areNumbersChanged = true;
    return this.#numbers.nextSeq++;
  }

  takeSpecNumber(): number {
    this.#areNumbersChanged = true;
    return this.#numbers.nextAspect++;
  }

  putState(state: DefinitionState): void {
    this.#states.add(state);
  }

  removeDefinition(id: string): void {
    this.#removedDefinitions.push(id);
    this.#documents.set(`definition:${id}`, undefined);
  }

  /** Undefined removes it. */
  putAggregate(number: number, progress: AggregateProgress | undefined): void {
    this.putDocument(`aspect:${number}`, progress);
  }

  /** Undefined removes it. */
  putDocument(name: string, value: unknown): void {
    this.#documents.set(name, value === undefined ? undefined : JSON.stringify(value));
  }

  /** Messages of the log up to here are counted. */
  moveCursor(cursor: Offset): void {
    this.#cursor = cursor;
  }

  // ── Committing ──

  /** `publishedUpTo`: messages of the outbox up to this number are in the log. */
  async commit(publishedUpTo?: number): Promise<void> {
    this.#encodeDocuments();
    // Some may have been fetched since they were seen.
    for (const seen of this.#seen.values()) this.#extend(seen);
    await this.#store.commit({
      ...(this.#cursor === undefined ? {} : { cursor: this.#cursor }),
      ...(publishedUpTo === undefined ? {} : { publishedUpTo }),
      profiles: Array.from(this.#changed, (profile) => this.#encoded(profile)),
      seen: this.#seenOnly(),
      removedProfiles: [...this.#removed],
      identities: [...this.#identityChanges],
      members: [...this.#members.values()],
      held: [...this.#held.values()],
      removedDefinitions: this.#removedDefinitions,
      pending: this.outbox,
      withdrawn: this.#withdrawn,
      documents: [...this.#documents],
    });
    this.#fetched.intoCache(this.#removed, this.#identityChanges);
  }

  #encodeDocuments(): void {
    const removed = new Set(this.#removedDefinitions);
    for (const state of this.#states) {
      const { id } = state.definition;
      if (!removed.has(id)) this.putDocument(`definition:${id}`, state);
    }
    if (this.#areNumbersChanged) this.putDocument("numbers", this.#numbers);
  }

  #encoded(profile: Profile): NonNullable<ProfileCommit["profiles"]>[number] {
    const { number, firstSeenMs, lastSeenMs, dueMs } = profile;
    const body = encodeProfile(profile);
    this.#fetched.measured(number, body);
    return { number, firstSeenMs, lastSeenMs, body, ...(dueMs === undefined ? {} : { dueMs }) };
  }

  /** Profiles that were only seen. Sorted by number, so that the store writes its pages in order. */
  #seenOnly(): Seen[] {
    for (const profile of this.#changed) this.#seen.delete(profile.number);
    for (const number of this.#removed) this.#seen.delete(number);
    return [...this.#seen.values()].sort((a, b) => a[0] - b[0]);
  }
}
