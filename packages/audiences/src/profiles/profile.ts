import type { ProfileRecord } from "@sluice/event-log";
import { parseJson } from "@sluice/event-log";
import type { AggregateState } from "../conditions/aggregate.js";

/** Whether a profile is a member of an audience. */
export interface Membership {
  readonly isIn: boolean;
  /** Since when it is in or out. */
  readonly sinceMs: number;
  /** The membership that was last published to destinations. */
  readonly published: boolean;
  /** The number of that message; 0: none was published. */
  readonly publishedSeq: number;
}

/** A computed trait of a profile. */
export interface ComputedValue {
  /** Undefined if no events are left. */
  readonly value: unknown;
  /** Events that are not part of the value, because a limit was reached. */
  readonly leftOut: number;
  /** The value that was last published to destinations, as JSON; absent if none was. */
  readonly published?: string;
  readonly publishedSeq: number;
}

/** How many traits and ids were left out because the profile is full. Each arrival counts. */
export interface LeftOutOfProfile {
  traits: number;
  ids: number;
}

/** What is known of one user. A unit of work changes it in place; it is stored as JSON. */
export interface Profile {
  readonly number: number;
  /** `u:` and the user id, or `a:` and the anonymous id of a user who is not identified yet. */
  readonly id: string;
  firstSeenMs: number;
  lastSeenMs: number;
  /** All its ids, its own first. */
  identities: string[];
  /** Anonymous ids that are joined to another one of its user ids, with that user id. */
  readonly joined: Map<string, string>;
  readonly traits: Map<string, unknown>;
  /** By spec number. */
  readonly aggregates: Map<number, AggregateState>;
  /** By audience. Absent if it was never a member. */
  readonly memberships: Map<string, Membership>;
  /** By computed trait. */
  readonly computed: Map<string, ComputedValue>;
  /** Traits and ids that were left out because the profile is full. */
  readonly leftOut: LeftOutOfProfile;
  /** Bytes of its ids and traits, once they are computed. Not stored. */
  contentBytes?: number;
  /** When it has to be evaluated again: never too late, perhaps too early. */
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
    aggregates: new Map(),
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

/** Indices of two ids of the profile, so that a long user id is not stored again for each join. */
type StoredJoin = readonly [anonymous: number, user: number];

/** A stored profile. Arrays, because there are many profiles. */
interface Stored {
  readonly id: string;
  /** Without its own id. */
  readonly ids?: readonly string[];
  /** Absent: all anonymous ids are joined to its own id. */
  readonly joined?: readonly StoredJoin[];
  readonly traits?: readonly (readonly [string, unknown])[];
  readonly aspects?: readonly (readonly [number, AggregateState])[];
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
    ...(profile.aggregates.size === 0 ? {} : { aspects: [...profile.aggregates] }),
    ...(profile.memberships.size === 0
      ? {}
      : {
          in: Array.from(profile.memberships, ([id, one]) => [
            id,
            one.isIn ? 1 : 0,
            one.sinceMs,
            one.published ? 1 : 0,
            one.publishedSeq,
          ]),
        }),
    ...(profile.computed.size === 0
      ? {}
      : {
          computed: Array.from(profile.computed, ([id, { value, publishedSeq, published, leftOut }]) => {
            if (leftOut > 0) return [id, value, publishedSeq, published ?? null, leftOut];
            return published === undefined ? [id, value, publishedSeq] : [id, value, publishedSeq, published];
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

/** The joins of which the profile has both ids. */
function joinsOf(stored: readonly StoredJoin[] = [], identities: readonly string[]): Map<string, string> {
  return new Map(
    stored.flatMap(([from, to]) => {
      const [anonymous, user] = [identities[from], identities[to]];
      return anonymous === undefined || user === undefined ? [] : [[anonymous, user] as const];
    }),
  );
}

export function decodeProfile({ number, firstSeenMs, lastSeenMs, body }: ProfileRecord): Profile {
  const stored = parseJson(body) as Stored;
  const identities = [stored.id, ...(stored.ids ?? [])];
  return {
    number,
    id: stored.id,
    firstSeenMs,
    lastSeenMs,
    identities,
    joined: joinsOf(stored.joined, identities),
    traits: new Map(stored.traits),
    aggregates: new Map(stored.aspects),
    memberships: new Map(
      stored.in?.map(([id, isIn, sinceMs, published, publishedSeq]) => [
        id,
        { isIn: isIn === 1, sinceMs, published: published === 1, publishedSeq },
      ]),
    ),
    computed: new Map(
      stored.computed?.map(([id, value, publishedSeq, published, leftOut = 0]) => [
        id,
        {
          value: value ?? undefined,
          leftOut,
          publishedSeq,
          ...(typeof published === "string" ? { published } : {}),
        },
      ]),
    ),
    leftOut: { traits: stored.left?.[0] ?? 0, ids: stored.left?.[1] ?? 0 },
    ...(stored.due === undefined ? {} : { dueMs: stored.due }),
  };
}
