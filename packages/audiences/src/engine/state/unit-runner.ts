import { randomBytes } from "node:crypto";
import {
  anonymousIdentity,
  type Identity,
  type PendingMessage,
  type ProfileStore,
  userIdentity,
} from "@sluice/event-log";
import { serialQueue } from "@sluice/resilience";
import { BoundedMap } from "../../profiles/bounded-map.js";
import type { SetAside } from "../../profiles/crash-marker.js";
import type { ProfileCache } from "../../profiles/fetched-profiles.js";
import type { LeftOutOfProfile } from "../../profiles/profile.js";
import { decodeProfile, type Profile } from "../../profiles/profile.js";
import { UnitOfWork } from "../../profiles/unit-of-work.js";
import { type EngineState, type EngineStatus, loadEngineState, statusOf } from "./engine-state.js";

/** Profiles that one unit of work looks at, at most, when it looks at many. */
export const UNIT_PROFILES = 500;
/** What cached profiles may take of the heap, about; their ids a quarter of it. */
const CACHED_BYTES = 48 * 1_024 * 1_024;

/** What a unit of work did, for its caller. */
export interface UnitResult {
  /** Messages to be appended to the log, in order, and to be marked as published afterwards. */
  readonly pending: readonly PendingMessage[];
  /** Traits and ids that were left out because the profile is full. */
  readonly leftOut: Readonly<LeftOutOfProfile>;
  /** Messages that were given up. */
  readonly setAside: readonly SetAside[];
  readonly status: EngineStatus;
  /** Messages that asked for ids to be joined that were not, by source. */
  readonly refusedJoins: readonly (readonly [sourceId: string, messages: number])[];
}

export interface UnitRunnerOptions {
  /** Profiles kept in memory, as far as they fit into 48 MB. Default: 20,000. */
  readonly rememberedProfiles?: number;
  /** Makes the prefix of message ids for a new file of profiles. Default: 12 random characters. */
  readonly newNonce?: () => string;
}

export type Make = (unit: UnitOfWork, loaded: EngineState) => Promise<void> | void;

/** Runs units of work one after another on the engine's state in memory, and commits each of them. */
export class UnitRunner {
  readonly store: ProfileStore;
  /** Units of work and questions run here one after another. `run`, `transact` and `load` are called within it. */
  readonly enqueue = serialQueue();
  readonly #cache: ProfileCache;
  readonly #newNonce: () => string;
  #loaded: EngineState | undefined;
  /** Messages up to this number are in the log; the next commit stores it. */
  #publishedUpTo: number | undefined;

  constructor(
    store: ProfileStore,
    { rememberedProfiles = 20_000, newNonce = () => randomBytes(6).toString("hex") }: UnitRunnerOptions = {},
  ) {
    this.store = store;
    this.#newNonce = newNonce;
    this.#cache = {
      profiles: new BoundedMap({ entries: rememberedProfiles, bytes: CACHED_BYTES }),
      identities: new BoundedMap({ entries: rememberedProfiles * 2, bytes: CACHED_BYTES / 4 }),
    };
  }

  async load(): Promise<EngineState> {
    this.#loaded ??= await loadEngineState(this.store, this.#newNonce);
    return this.#loaded;
  }

  /** Makes and commits one unit of work. If it fails nothing of it takes effect. */
  async run(nowMs: number, make: Make): Promise<UnitResult> {
    const loaded = await this.load();
    const { outbox, leftOut, setAside, refusedJoins } = await this.transact(nowMs, make);
    const status = statusOf(loaded, await this.store.nextDueMs(), nowMs);
    return { pending: outbox, leftOut, setAside, refusedJoins: [...refusedJoins], status };
  }

  /** The same without a result for the loop. */
  async transact(nowMs: number, make: Make): Promise<UnitOfWork> {
    const loaded = await this.load();
    const unit = new UnitOfWork(this.store, this.#cache, loaded.numbers, nowMs);
    try {
      await make(unit, loaded);
      const publishedUpTo = this.#publishedUpTo;
      await unit.commit(publishedUpTo);
      if (this.#publishedUpTo === publishedUpTo) this.#publishedUpTo = undefined;
    } catch (error) {
      this.#unload();
      throw error;
    }
    return unit;
  }

  /** Messages up to `seq` are in the log. */
  markPublished(seq: number): void {
    this.#publishedUpTo = Math.max(seq, this.#publishedUpTo ?? 0);
  }

  /** Stores what was marked as published, if no commit has stored it since. */
  async savePublished(): Promise<void> {
    if (this.#publishedUpTo === undefined) return;
    await this.store.commit({ publishedUpTo: this.#publishedUpTo });
    this.#publishedUpTo = undefined;
  }

  /** A profile as it is stored. It does not enter the cache: a unit of work may be changing it. */
  readUser(userId: string): Promise<Profile | undefined> {
    return this.readFirst([userIdentity(userId), anonymousIdentity(userId)]);
  }

  /** The profile of the first of these ids that has one, as it is stored. */
  async readFirst(identities: readonly Identity[]): Promise<Profile | undefined> {
    const numbers = await this.store.resolve(identities);
    const number = identities.map((identity) => numbers.get(identity)).find((one) => one !== undefined);
    if (number === undefined) return undefined;
    const [record] = await this.store.load([number]);
    return record === undefined ? undefined : decodeProfile(record);
  }

  /** Forgets what a failed unit of work may have changed in memory: it is read again. */
  #unload(): void {
    this.#loaded = undefined;
    this.#cache.profiles.clear();
    this.#cache.identities.clear();
  }
}
