import type { ComputedTraitDefinition, MemberView } from "@sluice/control-api";
import type { ProfileStore } from "@sluice/event-log";
import { lastMessageIndex, type Offset, offsetAt, type StoredBatch } from "@sluice/event-log";
import { type Condition, formatTime } from "@sluice/protocol";
import {
  type AggregateSpec,
  type AggregateState,
  countSpecOf,
  specKey,
  withOccurrence,
} from "../../conditions/aggregate.js";
import { eventConditions, holds } from "../../conditions/evaluate.js";
import { type ValueState, valueNow } from "../../conditions/value.js";
import { type DefinitionSet, definitionSet, valueSpecOf } from "../../definitions/definition-set.js";
import { AUDIENCE, type COMPUTED_TRAIT } from "../../definitions/definitions.js";
import { isSetAside, readable, type SetAside } from "../../profiles/crash-marker.js";
import { identificationOf } from "../../profiles/identities.js";
import { decodeProfile, type Profile, userFields } from "../../profiles/profile.js";
import { SCANNED_BYTES } from "../../profiles/profile-bounds.js";
import { readingOf } from "../evaluation/profile-reading.js";
import { eventsOf, type TrackEvent } from "../messages/take-message.js";

/** Profiles that one call of `scan` evaluates. */
const SCANNED_PROFILES = 2_000;
/** Users in the result. */
const SHOWN_USERS = 10;

export type PreviewQuestion =
  /** Who would be in an audience? */
  | { readonly kind: typeof AUDIENCE; readonly condition: Condition }
  /** Who would have a value of a computed trait, and which? */
  | { readonly kind: typeof COMPUTED_TRAIT; readonly definition: ComputedTraitDefinition };

export interface Previewed {
  /** Users who would be in, or have a value. */
  readonly size: number;
  /** Profiles that were evaluated. */
  readonly evaluated: number;
  /** The first ten of those users; `value`: of a computed trait. */
  readonly sample: readonly PreviewedUser[];
}

type PreviewedUser = MemberView & { readonly value?: unknown };

export interface PreviewParts {
  readonly store: ProfileStore;
  readonly definitions: DefinitionSet;
  /** Numbers of aggregates that hold the whole history, by `specKey`. */
  readonly counted: ReadonlyMap<string, number>;
  /** Later events are not counted. */
  readonly upTo: Offset;
  readonly nowMs: number;
}

/**
 * Finds out what an audience or a computed trait would be before it exists: first it counts, in memory, the events of the log that no
 * definition counts yet (`history`, if `needsHistory`), then it evaluates all profiles (`scan`). It changes nothing.
 */
export class Preview {
  readonly #parts: PreviewParts;
  readonly #uncounted: UncountedSpecs;
  readonly #match: Match;
  /** The aggregates of this preview, by profile and spec number. */
  readonly #aggregates = new Map<number, Map<number, AggregateState>>();
  #scannedTo = -1;
  #evaluated = 0;
  #size = 0;
  readonly #sample: PreviewedUser[] = [];

  constructor(question: PreviewQuestion, parts: PreviewParts) {
    this.#parts = parts;
    this.#uncounted = new UncountedSpecs(parts.counted);
    this.#match =
      question.kind === AUDIENCE
        ? memberMatch(question.condition, parts, this.#uncounted)
        : valueMatch(question.definition, parts, this.#uncounted);
  }

  get needsHistory(): boolean {
    return this.#uncounted.specs.size > 0;
  }

  /** Counts the next batches of the log, without messages that were set aside; none: it has ended. Returns how far it is. */
  async history(batches: readonly StoredBatch[], setAside: readonly SetAside[]): Promise<Offset> {
    const { store, upTo } = this.#parts;
    const events = new Set(Array.from(this.#uncounted.specs.values(), ({ event }) => event));
    const past = readable(batches, setAside)
      .flatMap((batch) => eventsOf(batch, events))
      .filter(({ occurrence: { offset } }) => offset <= upTo && !isSetAside(setAside, offset));
    const numbers = await store.resolve(past.flatMap(({ message }) => identificationOf(message)?.own ?? []));
    for (const event of past) {
      const profile = numbers.get(identificationOf(event.message)?.own ?? "");
      if (profile !== undefined) this.#count(profile, event);
    }
    const last = batches.at(-1);
    return last === undefined ? upTo : offsetAt(last.first, lastMessageIndex(last));
  }

  #count(profile: number, { event, occurrence }: TrackEvent): void {
    const states = this.#aggregates.get(profile) ?? new Map<number, AggregateState>();
    for (const [number, spec] of this.#uncounted.specs) {
      if (spec.event !== event) continue;
      const state = withOccurrence(spec, states.get(number), occurrence, this.#parts.nowMs);
      if (state !== undefined) states.set(number, state);
    }
    if (states.size > 0) this.#aggregates.set(profile, states);
  }

  /** Evaluates the next profiles; returns whether all are done. */
  async scan(): Promise<boolean> {
    const { records, isEnd } = await this.#parts.store.scan(this.#scannedTo, {
      profiles: SCANNED_PROFILES,
      bytes: SCANNED_BYTES,
    });
    for (const record of records) {
      const profile = decodeProfile(record);
      for (const [number, state] of this.#aggregates.get(record.number) ?? [])
        profile.aggregates.set(number, state);
      this.#evaluated += 1;
      const user = this.#match(profile);
      if (user === undefined) continue;
      this.#size += 1;
      if (this.#sample.length < SHOWN_USERS) this.#sample.push(user);
    }
    this.#scannedTo = records.at(-1)?.number ?? this.#scannedTo;
    return isEnd;
  }

  result(): Previewed {
    return { size: this.#size, evaluated: this.#evaluated, sample: this.#sample };
  }
}

/** Specs that no definition counts. Their numbers are below zero, unlike those of stored aggregates. */
class UncountedSpecs {
  readonly specs = new Map<number, AggregateSpec>();
  readonly #numbers = new Map<string, number>();
  readonly #counted: ReadonlyMap<string, number>;

  constructor(counted: ReadonlyMap<string, number>) {
    this.#counted = counted;
  }

  /** The number of a spec. Adds one that is not counted. */
  numberOf(spec: AggregateSpec): number {
    const key = specKey(spec);
    const known = this.#counted.get(key) ?? this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = -1 - this.specs.size;
    this.#numbers.set(key, number);
    this.specs.set(number, spec);
    return number;
  }
}

/** Returns the user of a profile that would be in, or have a value; undefined for any other. */
type Match = (profile: Profile) => PreviewedUser | undefined;

function memberMatch(
  condition: Condition,
  { definitions, nowMs }: PreviewParts,
  uncounted: UncountedSpecs,
): Match {
  const specNumberOf = new Map(definitions.specNumberOf);
  for (const event of eventConditions(condition))
    specNumberOf.set(event, uncounted.numberOf(countSpecOf(event)));
  const document = {
    name: "",
    key: "",
    condition,
    destinationIds: [],
    sync: { initialDelayMs: 0, everyMs: 0 },
    trackEvents: false,
    enabled: true,
    paused: false,
    createdAt: formatTime(nowMs),
  };
  const previewed = definitionSet(
    [...definitions.computedTraits, { id: "preview", kind: AUDIENCE, document }],
    specNumberOf,
    new Map([...definitions.specs, ...uncounted.specs]),
  );
  return (profile) =>
    holds(condition, readingOf(profile, previewed, nowMs)) ? userFields(profile) : undefined;
}

function valueMatch(
  definition: ComputedTraitDefinition,
  { nowMs }: PreviewParts,
  uncounted: UncountedSpecs,
): Match {
  const spec = valueSpecOf(definition);
  const number = uncounted.numberOf(spec);
  return (profile) => {
    const { value } = valueNow(spec, profile.aggregates.get(number) as ValueState | undefined, nowMs);
    return value === undefined ? undefined : { ...userFields(profile), value };
  };
}
