import type { ProfileRecord } from "@sluice/event-log";
import { parseJson } from "@sluice/event-log";
import { isPlainObject } from "@sluice/protocol";
import type { AspectState } from "../conditions/aspect.js";
import { admitTrait, type LeftOutOfProfile, releaseTrait } from "./profile-bounds.js";

/** What a profile is to an audience. */
export interface Membership {
  readonly isIn: boolean;
  /** Since when it is in, or out. */
  readonly sinceMs: number;
  /** What the destinations were told last. */
  readonly told: boolean;
  /** The message that told them; 0: none. */
  readonly toldSeq: number;
}

/** A computed trait of a profile. */
export interface ComputedValue {
  /** Undefined where there is none: no event of it is left. */
  readonly value: unknown;
  /** Events of which nothing is in the value, because a limit was reached. */
  readonly leftOut: number;
  /** What the destinations were told last, as JSON; absent: nothing yet. */
  readonly told?: string;
  readonly toldSeq: number;
}

/** What is known of one user. Changed in place while a step is made; stored as JSON. */
export interface Profile {
  readonly number: number;
  /** `u:` and the user id, or `a:` and the anonymous id of somebody who was not identified so far. */
  readonly id: string;
  firstSeenMs: number;
  lastSeenMs: number;
  /** Every id that it answers to, its own first. */
  identities: string[];
  /** Anonymous ids that are joined to another of its user ids than its own, with that user id. */
  readonly joined: Map<string, string>;
  readonly traits: Map<string, unknown>;
  /** By aspect number. */
  readonly aspects: Map<number, AspectState>;
  /** By audience; one that it was never in is absent. */
  readonly memberships: Map<string, Membership>;
  /** By computed trait. */
  readonly computed: Map<string, ComputedValue>;
  /** What did not get in because the profile is full. */
  readonly leftOut: LeftOutOfProfile;
  /** Bytes of its ids and traits, once they were added up. Not stored. */
  contentBytes?: number;
  /** Stored as due then: never later than it must be, perhaps earlier. */
  dueMs?: number | undefined;
}

export function newProfile(number: number, id: string, seenMs: number): Profile {
  return {
    number,
    id,
    firstSeenMs: seenMs,
    lastSeenMs: seenMs,
    identities: [id],
    joined: new Map(),
    traits: new Map(),
    aspects: new Map(),
    memberships: new Map(),
    computed: new Map(),
    leftOut: { traits: 0, ids: 0 },
  };
}

export function isAnonymous(profile: Pick<Profile, "id">): boolean {
  return profile.id.startsWith("a:");
}

/** The user id that an anonymous id of the profile is joined to. */
export function joinedTo({ id, joined }: Pick<Profile, "id" | "joined">, identity: string): string {
  return joined.get(identity) ?? id;
}

/** The fields by which messages name the user. */
export function userFields(profile: Pick<Profile, "id">): { userId: string } | { anonymousId: string } {
  const id = profile.id.slice(2);
  return isAnonymous(profile) ? { anonymousId: id } : { userId: id };
}

/**
 * Takes over an identify message's traits; null takes one away. Those for which the profile has no room are left out and counted
 * in `leftOut` too.
 * Returns the names of those that changed.
 */
export function takeTraits(profile: Profile, traits: unknown, leftOut: LeftOutOfProfile): string[] {
  const changed: string[] = [];
  if (!isPlainObject(traits)) return changed;
  for (const name of Object.keys(traits)) {
    const value = traits[name];
    const known = profile.traits.get(name);
    if (value === null || value === undefined) {
      if (known === undefined) continue;
      releaseTrait(profile, name);
      profile.traits.delete(name);
      changed.push(name);
    } else if (
      known !== value &&
      !(typeof value === "object" && JSON.stringify(known) === JSON.stringify(value)) &&
      admitTrait(profile, name, value, leftOut)
    ) {
      profile.traits.set(name, value);
      changed.push(name);
    }
  }
  return changed;
}

/** Places of two ids among all of the profile: a long user id is not stored anew for each. An older version stored the ids. */
type StoredJoin = readonly [anonymous: number, user: number] | readonly [anonymous: string, user: string];

/** Profiles as they are stored: arrays, since there are many of them. */
interface Stored {
  readonly id: string;
  /** Without its own. */
  readonly ids?: readonly string[];
  /** What an older version stored does not say: everything is joined to its own id. */
  readonly joined?: readonly StoredJoin[];
  readonly traits?: readonly (readonly [string, unknown])[];
  readonly aspects?: readonly (readonly [number, AspectState])[];
  readonly in?: readonly (readonly [string, 0 | 1, number, 0 | 1, number])[];
  readonly computed?: readonly (readonly [string, unknown, number, (string | null)?, number?])[];
  readonly due?: number;
  /** Traits and ids that were left out. */
  readonly left?: readonly [traits: number, ids: number];
}

export function encodeProfile(profile: Profile): string {
  const stored: Stored = {
    id: profile.id,
    ...(profile.identities.length === 1 ? {} : { ids: profile.identities.slice(1) }),
    ...(profile.joined.size === 0 ? {} : { joined: storedJoins(profile) }),
    ...(profile.traits.size === 0 ? {} : { traits: [...profile.traits] }),
    ...(profile.aspects.size === 0 ? {} : { aspects: [...profile.aspects] }),
    ...(profile.memberships.size === 0
      ? {}
      : {
          in: Array.from(profile.memberships, ([id, one]) => [
            id,
            one.isIn ? 1 : 0,
            one.sinceMs,
            one.told ? 1 : 0,
            one.toldSeq,
          ]),
        }),
    ...(profile.computed.size === 0
      ? {}
      : {
          computed: Array.from(profile.computed, ([id, { value, toldSeq, told, leftOut }]) => {
            if (leftOut > 0) return [id, value, toldSeq, told ?? null, leftOut];
            return told === undefined ? [id, value, toldSeq] : [id, value, toldSeq, told];
          }),
        }),
    ...(profile.dueMs === undefined ? {} : { due: profile.dueMs }),
    ...(profile.leftOut.traits + profile.leftOut.ids === 0
      ? {}
      : { left: [profile.leftOut.traits, profile.leftOut.ids] as const }),
  };
  return JSON.stringify(stored);
}

function storedJoins({ identities, joined }: Profile): StoredJoin[] {
  const places = new Map(identities.map((identity, place) => [identity, place]));
  return Array.from(joined).flatMap(([anonymous, user]): StoredJoin[] => {
    const [from, to] = [places.get(anonymous), places.get(user)];
    return from === undefined || to === undefined ? [] : [[from, to]];
  });
}

/** Those of which the profile has both ids. */
function joinsOf(stored: readonly StoredJoin[] = [], identities: readonly string[]): Map<string, string> {
  const places = new Map(identities.map((identity, place) => [identity, place]));
  const known = (id: number | string): string | undefined =>
    identities[typeof id === "number" ? id : (places.get(id) ?? -1)];
  return new Map(
    stored.flatMap(([from, to]) => {
      const [anonymous, user] = [known(from), known(to)];
      return anonymous === undefined || user === undefined ? [] : [[anonymous, user] as const];
    }),
  );
}

export function decodeProfile({ number, firstSeenMs, lastSeenMs, body }: ProfileRecord): Profile {
  const stored = parseJson(body) as Stored;
  // What was stored by an older version names its own id too.
  const identities = [stored.id, ...(stored.ids ?? []).filter((identity) => identity !== stored.id)];
  return {
    number,
    id: stored.id,
    firstSeenMs,
    lastSeenMs,
    identities,
    joined: joinsOf(stored.joined, identities),
    traits: new Map(stored.traits),
    aspects: new Map(stored.aspects),
    memberships: new Map(
      stored.in?.map(([id, isIn, sinceMs, told, toldSeq]) => [
        id,
        { isIn: isIn === 1, sinceMs, told: told === 1, toldSeq },
      ]),
    ),
    computed: new Map(
      stored.computed?.map(([id, value, toldSeq, told, leftOut = 0]) => [
        id,
        {
          value: value ?? undefined,
          leftOut,
          toldSeq,
          ...(typeof told === "string" ? { told } : {}),
        },
      ]),
    ),
    leftOut: { traits: stored.left?.[0] ?? 0, ids: stored.left?.[1] ?? 0 },
    ...(stored.due === undefined ? {} : { dueMs: stored.due }),
  };
}
