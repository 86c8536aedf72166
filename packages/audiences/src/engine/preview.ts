import type { ProfileStore } from "@sluice/event-log";
import { lastMessageIndex, type Offset, offsetAt, type StoredBatch } from "@sluice/event-log";
import { type ComputedTraitDefinition, type Condition, formatTime, type MemberView } from "@sluice/protocol";
import { type Accumulation, figureNow } from "../conditions/accumulate.js";
import { type Aspect, type AspectState, aspectKey, tallyOf, withOccurrence } from "../conditions/aspect.js";
import { eventConditions, holds } from "../conditions/evaluate.js";
import { AUDIENCE, type COMPUTED_TRAIT } from "../definitions/definitions.js";
import { makePlan, type Plan } from "../definitions/plan.js";
import { identificationOf } from "../profiles/identities.js";
import { decodeProfile, type Profile, userFields } from "../profiles/profile.js";
import { SCANNED_BYTES } from "../profiles/scanned-bytes.js";
import { isSetAside, readable, type SetAside } from "../profiles/set-aside.js";
import { accumulationOf } from "./definition-phases.js";
import { readingOf } from "./keep-up.js";
import { eventsOf } from "./track-events.js";

/** Profiles looked at in one go. */
const SCANNED = 2_000;
/** Users that a preview shows. */
const SHOWN = 10;

export type PreviewQuestion =
  /** Who would be in an audience? */
  | { readonly kind: typeof AUDIENCE; readonly condition: Condition }
  /** Who would have a value of a computed trait, and which? */
  | { readonly kind: typeof COMPUTED_TRAIT; readonly definition: ComputedTraitDefinition };

export interface Previewed {
  /** Users who would be in, or have a value. */
  readonly size: number;
  /** Profiles that were looked at. */
  readonly evaluated: number;
  /** The first ten of those users; `value`: of a computed trait. */
  readonly sample: readonly PreviewedUser[];
}

type PreviewedUser = MemberView & { readonly value?: unknown };

/**
 * Finds out what an audience or a computed trait would be that does not exist: first the log is read for events that nothing
 * counts yet (`history`, unless `needsHistory` is false), then all profiles are evaluated (`scan`). It changes nothing; what it
 * counts is in memory.
 */
export interface Previewer {
  readonly needsHistory: boolean;
  /** Events after it are not looked at. */
  readonly upTo: Offset;
  /** Takes the next batches of the log, without what was set aside; none: it is at its end. Answers how far it is. */
  history(batches: readonly StoredBatch[], setAside: readonly SetAside[]): Promise<Offset>;
  /** Evaluates the next profiles; answers whether all are done. */
  scan(): Promise<boolean>;
  result(): Previewed;
}

export function previewer(
  question: PreviewQuestion,
  parts: {
    readonly store: ProfileStore;
    readonly plan: Plan;
    /** Aspects whose states hold the whole history. */
    readonly counted: ReadonlyMap<string, number>;
    readonly upTo: Offset;
    readonly nowMs: number;
  },
): Previewer {
  const { store, plan, counted, upTo, nowMs } = parts;
  const aspects = new Map<number, Aspect>(plan.aspects);
  const uncounted = new Map<string, { readonly number: number; readonly aspect: Aspect }>();
  const numberOf = (aspect: Aspect): number => {
    const key = aspectKey(aspect);
    const known = counted.get(key) ?? uncounted.get(key)?.number;
    if (known !== undefined) return known;
    // Below zero: no aspect that is kept has such a number.
    const number = -1 - uncounted.size;
    uncounted.set(key, { number, aspect });
    aspects.set(number, aspect);
    return number;
  };
  const look =
    question.kind === AUDIENCE
      ? memberFor(question.condition, { plan, aspects, numberOf, nowMs })
      : valueFor(question.definition, { numberOf, nowMs });
  const events = new Set(Array.from(uncounted.values(), ({ aspect }) => aspect.event));
  const states = new Map<number, Map<number, AspectState>>();
  let cursor = -1 as Offset;
  let scannedTo = -1;
  let evaluated = 0;
  let size = 0;
  const sample: PreviewedUser[] = [];

  return {
    needsHistory: uncounted.size > 0,
    upTo,
    history: async (batches, setAside) => {
      const occurrences = readable(batches, setAside)
        .flatMap((batch) => eventsOf(batch, events))
        .filter(({ occurrence: { offset } }) => offset <= upTo && !isSetAside(setAside, offset));
      const identities = occurrences.flatMap(({ message }) => identificationOf(message)?.own ?? []);
      const numbers = await store.resolve(identities);
      for (const { message, event, occurrence } of occurrences) {
        const profile = numbers.get(identificationOf(message)?.own ?? "");
        if (profile === undefined) continue;
        const ofProfile = states.get(profile) ?? new Map<number, AspectState>();
        for (const { number, aspect } of uncounted.values()) {
          if (aspect.event !== event) continue;
          const state = withOccurrence(aspect, ofProfile.get(number), occurrence, nowMs);
          if (state !== undefined) ofProfile.set(number, state);
        }
        if (ofProfile.size > 0) states.set(profile, ofProfile);
      }
      const last = batches.at(-1);
      cursor = last === undefined ? upTo : offsetAt(last.first, lastMessageIndex(last));
      return cursor;
    },
    scan: async () => {
      const { records, isEnd } = await store.scan(scannedTo, { profiles: SCANNED, bytes: SCANNED_BYTES });
      for (const record of records) {
        const profile = decodeProfile(record);
        for (const [aspect, state] of states.get(record.number) ?? []) profile.aspects.set(aspect, state);
        evaluated += 1;
        const found = look(profile);
        if (found === undefined) continue;
        size += 1;
        if (sample.length < SHOWN) sample.push(found);
      }
      scannedTo = records.at(-1)?.number ?? scannedTo;
      return isEnd;
    },
    result: () => ({ size, evaluated, sample }),
  };
}

/** Answers the user of a profile that counts; undefined for any other. */
type Look = (profile: Profile) => PreviewedUser | undefined;

interface LookParts {
  /** The number of an aspect; one that nothing counts is counted from now on. */
  readonly numberOf: (aspect: Aspect) => number;
  readonly nowMs: number;
}

function memberFor(
  condition: Condition,
  {
    plan,
    aspects,
    numberOf,
    nowMs,
  }: LookParts & { readonly plan: Plan; readonly aspects: ReadonlyMap<number, Aspect> },
): Look {
  const aspectOf = new Map(plan.aspectOf);
  for (const event of eventConditions(condition)) aspectOf.set(event, numberOf(tallyOf(event)));
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
  const previewPlan = makePlan(
    [...plan.computedTraits, { id: "preview", kind: AUDIENCE, document }],
    aspectOf,
    aspects,
  );
  return (profile) =>
    holds(condition, readingOf(profile, previewPlan, nowMs)) ? userFields(profile) : undefined;
}

function valueFor(definition: ComputedTraitDefinition, { numberOf, nowMs }: LookParts): Look {
  const aspect = accumulationOf(definition);
  const number = numberOf(aspect);
  return (profile) => {
    const { value } = figureNow(aspect, profile.aspects.get(number) as Accumulation | undefined, nowMs);
    return value === undefined ? undefined : { ...userFields(profile), value };
  };
}
