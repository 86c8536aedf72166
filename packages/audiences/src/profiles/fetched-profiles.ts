import type { ProfileStore } from "@sluice/event-log";
import type { BoundedMap } from "./bounded-map.js";

import { decodeProfile, type Profile } from "./profile.js";
import { SCANNED_BYTES } from "./profile-bounds.js";

/** The heap bytes of an object or array without its contents, and of one value in it. */
const CONTAINER_BYTES = 64;
const VALUE_BYTES = 16;

/** Estimates the heap bytes of JSON: its text and its parsed value. Many small objects take twenty times their text. */
function heapBytesOf(json: string): number {
  let containers = 0;
  let values = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === OBJECT || code === ARRAY) containers += 1;
    else if (code === COMMA) values += 1;
  }
  return json.length * 2 + containers * CONTAINER_BYTES + values * VALUE_BYTES;
}

const OBJECT = 0x7b;
const ARRAY = 0x5b;
const COMMA = 0x2c;

/** Profiles and ids kept in memory between units of work. They only save reads. */
export interface ProfileCache {
  readonly profiles: BoundedMap<number, { readonly profile: Profile; readonly bytes: number }>;
  readonly identities: BoundedMap<string, number>;
}

/** The heap that the fetched profiles of one unit of work may take, about. After that no more are fetched: they are left to the next unit. */
const FETCHED_BYTES = 16 * 1_024 * 1_024;
/** This many are fetched in any case: enough for a few messages, so that every unit makes progress. */
const LEAST_FETCHED = 8;
/** An id in the cache: its entry beside its text. */
const IDENTITY_BYTES = 100;

/** The profiles and ids that one unit of work has read, and may change in memory. */
export class FetchedProfiles {
  readonly #store: ProfileStore;
  readonly #cache: ProfileCache;
  readonly #profiles = new Map<number, Profile>();
  /** Heap bytes of fetched profiles, about. */
  readonly #bytes = new Map<number, number>();
  #fetchedBytes = 0;
  /** Profiles for which there was no room. */
  readonly #unfetched = new Set<number>();
  /** Scanned profiles, which are looked at once. They must not push profiles that messages change out of the cache. */
  readonly #scanned = new Set<number>();
  readonly #numbers = new Map<string, number>();
  /** Ids that the unit of work has pointed elsewhere: store and cache know only what they pointed to before. */
  readonly #pointed = new Set<string>();

  constructor(store: ProfileStore, cache: ProfileCache) {
    this.#store = store;
    this.#cache = cache;
  }

  /** Reads the numbers of the profiles of these ids. */
  async resolve(identities: Iterable<string>): Promise<void> {
    const unknown: string[] = [];
    for (const identity of identities) {
      const known = this.#cache.identities.get(identity);
      if (known === undefined) unknown.push(identity);
      else this.#learn(identity, known);
    }
    if (unknown.length > 0) {
      for (const [identity, number] of await this.#store.resolve(unknown)) this.#learn(identity, number);
    }
  }

  #learn(identity: string, number: number): void {
    if (!this.#pointed.has(identity)) this.#numbers.set(identity, number);
  }

  /** Reads the profiles of these ids. */
  async fetch(identities: Iterable<string>): Promise<void> {
    await this.resolve(new Set(identities));
    await this.fetchNumbers(this.#numbers.values());
  }

  /** Reads profiles in this order, as many as there is room for. */
  async fetchNumbers(numbers: Iterable<number>): Promise<void> {
    for (const number of new Set(numbers)) {
      if (this.#profiles.has(number)) continue;
      if (this.#fetchedBytes > FETCHED_BYTES && this.#profiles.size >= LEAST_FETCHED) {
        this.#unfetched.add(number);
        continue;
      }
      const known = this.#cache.profiles.get(number);
      if (known !== undefined) this.#add(number, known.profile, known.bytes);
      else {
        const [record] = await this.#store.load([number]);
        if (record !== undefined) this.#add(number, decodeProfile(record), heapBytesOf(record.body));
      }
    }
  }

  /** Reads the next profiles after a number, as many as there is room for; `isEnd`: there are no more. */
  async scan(after: number, limit: number): Promise<{ profiles: Profile[]; isEnd: boolean }> {
    const { records, isEnd } = await this.#store.scan(after, { profiles: limit, bytes: SCANNED_BYTES });
    const profiles = records.map((record) => {
      const { number } = record;
      const known = this.known(number);
      if (known === undefined) this.#scanned.add(number);
      const profile = known ?? decodeProfile(record);
      this.#profiles.set(number, profile);
      return profile;
    });
    return { profiles, isEnd };
  }

  #add(number: number, profile: Profile, bytes: number): void {
    this.#profiles.set(number, profile);
    this.#bytes.set(number, bytes);
    this.#fetchedBytes += bytes;
  }

  /** Whether a profile was asked for when there was no room for it. */
  isUnfetched(number: number): boolean {
    return this.#unfetched.has(number);
  }

  get(number: number): Profile | undefined {
    return this.#profiles.get(number);
  }

  /** A profile that was fetched, or that is in the cache. */
  known(number: number): Profile | undefined {
    return this.#profiles.get(number) ?? this.#cache.profiles.get(number)?.profile;
  }

  numberOf(identity: string): number | undefined {
    return this.#numbers.get(identity);
  }

  create(profile: Profile): void {
    this.#profiles.set(profile.number, profile);
  }

  setNumber(identity: string, number: number | undefined): void {
    this.#pointed.add(identity);
    if (number === undefined) this.#numbers.delete(identity);
    else this.#numbers.set(identity, number);
  }

  /** A profile was encoded for storage. */
  measured(number: number, body: string): void {
    this.#bytes.set(number, heapBytesOf(body));
  }

  /** After the commit: puts everything that was read or made into the cache, and takes out what was removed. */
  intoCache(removed: ReadonlySet<number>, identityChanges: ReadonlyMap<string, number | undefined>): void {
    const { profiles, identities } = this.#cache;
    for (const [number, profile] of this.#profiles) {
      if (removed.has(number)) profiles.delete(number);
      else if (!this.#scanned.has(number)) {
        const bytes = this.#bytes.get(number) ?? 0;
        profiles.set(number, { profile, bytes }, bytes);
      }
    }
    for (const [identity, number] of this.#numbers)
      identities.set(identity, number, IDENTITY_BYTES + identity.length * 2);
    for (const [identity, number] of identityChanges) if (number === undefined) identities.delete(identity);
  }
}
