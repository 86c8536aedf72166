import type {
  MemberView,
  ProfileListView,
  ProfileView,
  SyncView,
  UserValueView,
  WhyView,
} from "@sluice/control-api";
import {
  type Identity,
  type Offset,
  type Page,
  type PageRequest,
  type ProfileStore,
  readPosition,
  writePosition,
} from "@sluice/event-log";
import { formatTime, isBuiltInSource, type UncheckedMessage } from "@sluice/protocol";
import { nextChangeMs } from "../../conditions/aggregate.js";
import { type CountState, countOf, lastMs } from "../../conditions/count.js";
import { type EventReading, explain } from "../../conditions/evaluate.js";
import type { ValueState } from "../../conditions/value.js";
import { type DefinitionSet, valueSpecOf } from "../../definitions/definition-set.js";
import { syncView } from "../../definitions/definition-state.js";
import { AUDIENCE, COMPUTED_TRAIT } from "../../definitions/definitions.js";
import type { IdentityPolicy } from "../../profiles/identities.js";
import { identificationOf, identitiesIn } from "../../profiles/identities.js";
import { decodeProfile, isAnonymous, type Profile, userFields } from "../../profiles/profile.js";
import { SCANNED_BYTES } from "../../profiles/profile-bounds.js";
import { type OwnerOfId, type RefusedJoin, refusedJoins } from "../../profiles/refused-joins.js";
import { readingOf } from "../evaluation/profile-reading.js";
import { historyRead } from "../state/engine-state.js";
import type { UnitRunner } from "../state/unit-runner.js";
import { reasonOf, type ValueReason } from "./explain-value.js";
import { idsOf, namesProfile, type UserIds } from "./forgetting.js";
import { foundIn, knownName, profileSearch } from "./search-profiles.js";

/** Profiles in which one call looks for values. */
const SEARCHED_PROFILES = 2_000;

export interface DefinitionStats {
  readonly id: string;
  readonly size: number;
  /** Whether everybody was evaluated. Until then, `size` counts only a part of the members. */
  readonly isComplete: boolean;
  readonly status: SyncView;
}

/** The questions of the control API. They change nothing. Each is called within the runner's queue. */
export class Questions {
  readonly #units: UnitRunner;

  constructor(units: UnitRunner) {
    this.#units = units;
  }

  async stats(nowMs: number): Promise<readonly DefinitionStats[]> {
    const loaded = await this.#units.load();
    return Array.from(loaded.states.values(), (state) => ({
      id: state.definition.id,
      size: state.size,
      isComplete: state.phase === "live",
      status: syncView(state, historyRead(state, loaded), nowMs),
    }));
  }

  async members(audienceId: string, page: PageRequest): Promise<Page<MemberView> | undefined> {
    const { store } = this.#units;
    const loaded = await this.#units.load();
    if (!loaded.states.has(audienceId)) return undefined;
    const { items, nextCursor } = await store.members(audienceId, page);
    const views: MemberView[] = [];
    for (const { profile: number, sinceMs } of items) {
      const [record] = await store.load([number]);
      if (record === undefined) continue;
      const profile = decodeProfile(record);
      views.push({ ...userFields(profile), ...knownName(profile), since: formatTime(sinceMs) });
    }
    return { items: views, ...(nextCursor === undefined ? {} : { nextCursor }) };
  }

  async values(traitId: string, { limit, cursor }: PageRequest): Promise<Page<UserValueView> | undefined> {
    const { definitions } = await this.#units.load();
    if (definitions.byId.get(traitId)?.kind !== COMPUTED_TRAIT) return undefined;
    const { records, isEnd } = await this.#units.store.scan(readPosition(cursor) ?? -1, {
      profiles: SEARCHED_PROFILES,
      bytes: SCANNED_BYTES,
    });
    const items: UserValueView[] = [];
    for (const record of records) {
      const profile = decodeProfile(record);
      const value = profile.computed.get(traitId)?.value;
      if (value === undefined) continue;
      items.push({ ...userFields(profile), value });
      if (items.length === limit) return { items, nextCursor: writePosition(record.number) };
    }
    const last = records.at(-1);
    return last !== undefined && !isEnd ? { items, nextCursor: writePosition(last.number) } : { items };
  }

  async why(audienceId: string, userId: string, nowMs: number): Promise<WhyView | undefined> {
    const { definitions } = await this.#units.load();
    const definition = definitions.byId.get(audienceId);
    const profile = await this.#units.readUser(userId);
    if (definition?.kind !== AUDIENCE || profile === undefined) return undefined;
    const membership = profile.memberships.get(audienceId);
    return {
      userId,
      member: membership?.isIn ?? false,
      ...(membership === undefined ? {} : { since: formatTime(membership.sinceMs) }),
      explanation: explain(definition.document.condition, {
        ...readingOf(profile, definitions, nowMs),
        event: (condition) =>
          eventReading(profile, definitions, definitions.specNumberOf.get(condition) ?? -1, nowMs),
      }),
    };
  }

  async whyValue(traitId: string, userId: string, nowMs: number): Promise<ValueReason | undefined> {
    const { definitions, cursor } = await this.#units.load();
    const definition = definitions.byId.get(traitId);
    const profile = await this.#units.readUser(userId);
    if (definition?.kind !== COMPUTED_TRAIT || profile === undefined) return undefined;
    const state = profile.aggregates.get(definitions.specNumberOf.get(definition.document) ?? -1);
    return reasonOf(profile, valueSpecOf(definition.document), state as ValueState | undefined, {
      userId,
      nowMs,
      upTo: cursor,
    });
  }

  async profile(userId: string): Promise<ProfileView | undefined> {
    const { definitions } = await this.#units.load();
    const profile = await this.#units.readUser(userId);
    return profile === undefined ? undefined : viewOf(profile, definitions);
  }

  /** One call looks at a bounded number of profiles. The newest come first; before them the profile with exactly this id. */
  async search(text: string, { limit, cursor }: PageRequest): Promise<ProfileListView> {
    await this.#units.load();
    const { store } = this.#units;
    const search = profileSearch(text);
    const exact = search === undefined ? undefined : await this.#units.readUser(text.trim());
    const { records, isEnd } = await store.scan(readPosition(cursor) ?? Number.MAX_SAFE_INTEGER, {
      profiles: SEARCHED_PROFILES,
      bytes: SCANNED_BYTES,
      isDescending: true,
    });
    const items = cursor === undefined && exact !== undefined ? foundIn(exact, search) : [];
    let searched = 0;
    for (const record of records) {
      searched += 1;
      if (record.number !== exact?.number) items.push(...foundIn(decodeProfile(record), search));
      if (items.length >= limit) break;
    }
    const last = records[searched - 1];
    const isComplete = isEnd && searched === records.length;
    const total = await store.count();
    return last === undefined || isComplete
      ? { items, searched, total }
      : { items, searched, total, nextCursor: writePosition(last.number) };
  }

  async refusedJoins(
    message: Pick<UncheckedMessage, "type" | "userId" | "anonymousId" | "previousId">,
    { sourceId, offset }: { readonly sourceId: string; readonly offset: Offset },
    policy: IdentityPolicy,
  ): Promise<readonly RefusedJoin[]> {
    const identification = identificationOf(message, policy);
    const { cursor } = await this.#units.load();
    if (identification === undefined || offset > cursor || isBuiltInSource(sourceId)) return [];
    const { store } = this.#units;
    const numbers = await store.resolve(identitiesIn(identification));
    const owners = new Map<number, OwnerOfId>();
    for (const record of await store.load([...new Set(numbers.values())])) {
      const { number } = record;
      owners.set(number, { number, isAnonymous: isAnonymous(decodeProfile(record)) });
    }
    return refusedJoins(message, policy, (identity: Identity | string) =>
      owners.get(numbers.get(identity) ?? -1),
    );
  }
}

function eventReading(
  profile: Profile,
  definitions: DefinitionSet,
  number: number,
  nowMs: number,
): EventReading {
  const spec = definitions.specs.get(number);
  const state = profile.aggregates.get(number) as CountState | undefined;
  if (spec?.kind !== "tally") return { isCapped: false };
  return {
    lastMs: lastMs(state),
    changesAtMs: nextChangeMs(spec, state, nowMs),
    isCapped: spec.withinMs !== undefined && countOf(spec, state, nowMs) >= spec.most,
  };
}

/** The ids that a deletion of `identity` includes, as far as the stored profiles know them. For a store that no engine runs on. */
export async function storedIdsOf(
  store: Pick<ProfileStore, "resolve" | "load">,
  identity: Identity,
  includeAliases: boolean,
): Promise<UserIds> {
  const number = (await store.resolve([identity])).get(identity);
  const [record] = number === undefined ? [] : await store.load([number]);
  const profile = record === undefined ? undefined : decodeProfile(record);
  const own = profile !== undefined && namesProfile(profile, identity) ? profile : undefined;
  return idsOf(own, identity, includeAliases);
}

function viewOf(profile: Profile, { byId }: DefinitionSet): ProfileView {
  const named = (prefix: string): string[] =>
    profile.identities.filter((identity) => identity.startsWith(prefix)).map((identity) => identity.slice(2));
  return {
    ...userFields(profile),
    traits: Object.fromEntries(profile.traits),
    computedTraits: Object.fromEntries(
      [...profile.computed].flatMap(([id, { value }]) => {
        const definition = byId.get(id);
        return definition === undefined || value === undefined ? [] : [[definition.document.key, value]];
      }),
    ),
    audiences: [...profile.memberships].flatMap(([id, { isIn, sinceMs }]) => {
      const definition = byId.get(id);
      return definition === undefined
        ? []
        : [{ id, key: definition.document.key, member: isIn, since: formatTime(sinceMs) }];
    }),
    identities: { userIds: named("u:"), anonymousIds: named("a:") },
    ...(profile.leftOut.traits + profile.leftOut.ids === 0 ? {} : { leftOut: { ...profile.leftOut } }),
    firstSeenAt: formatTime(profile.firstSeenMs),
    lastSeenAt: formatTime(profile.lastSeenMs),
  };
}
