import type { StoredBatch } from "@sluice/event-log";
import { isBuiltInSource, resolveTime, type UncheckedMessage } from "@sluice/protocol";
import { type AggregateSpec, withOccurrence } from "../../conditions/aggregate.js";
import type { Occurrence } from "../../conditions/occurrence.js";
import type { Profile } from "../../profiles/profile.js";
import { takeTraits } from "../../profiles/profile-bounds.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";
import { setDue, updateDue } from "../evaluation/due-time.js";
import { updateProfile } from "../evaluation/update-profile.js";
import type { EngineState } from "../state/engine-state.js";
import { seenAs } from "./fetch-profiles.js";
import { joinIds } from "./join-ids.js";
import type { AddressedMessage } from "./read-messages.js";
import { type IsNeeded, type LogMessage, readMessages } from "./read-messages.js";

/** Adds an event to an aggregate; returns whether the aggregate's state changed. */
export function takeOccurrence(
  unit: UnitOfWork,
  profile: Profile,
  number: number,
  spec: AggregateSpec,
  occurrence: Occurrence,
): boolean {
  const before = profile.aggregates.get(number);
  const after = withOccurrence(spec, before, occurrence, unit.nowMs);
  if (after === before || after === undefined) return false;
  profile.aggregates.set(number, after);
  unit.touch(profile);
  return true;
}

export interface TrackEvent {
  readonly message: UncheckedMessage;
  readonly event: string;
  readonly occurrence: Occurrence;
}

/** The track messages of a batch with one of these events, without those that the collector made. */
export function eventsOf(batch: StoredBatch, events: ReadonlySet<string>): TrackEvent[] {
  if (isBuiltInSource(batch.sourceId)) return [];
  const isNeeded = (type: unknown, event: unknown): boolean =>
    type === "track" && events.has(event as string);
  return readMessages(batch, isNeeded).flatMap((stored) => {
    const { message } = stored;
    if (message.type !== "track" || typeof message.event !== "string" || !events.has(message.event))
      return [];
    return [{ message, event: message.event, occurrence: occurrenceOf(stored) }];
  });
}

export function occurrenceOf(stored: LogMessage): Occurrence {
  return { atMs: timeOf(stored), offset: stored.offset, properties: stored.message.properties };
}

/** The message's time, but not after its receipt: a client's clock that is ahead must not keep a user in a window for longer. */
export function timeOf({ message, receivedAtMs }: LogMessage): number {
  return Math.min(resolveTime(message, receivedAtMs), receivedAtMs);
}

/** Applies a message to its user's profile: ids, traits, events, and the memberships and values that depend on them. */
export function takeMessage(
  unit: UnitOfWork,
  loaded: EngineState,
  stored: AddressedMessage,
  isNeeded: IsNeeded,
): void {
  const { message, identification } = stored;
  const { definitions } = loaded;
  const atMs = timeOf(stored);
  if (!isNeeded(message.type, message.event)) {
    const number = seenAs(unit, identification);
    if (number !== undefined) {
      unit.see(number, atMs);
      return;
    }
  }
  const known = unit.find(identification.own);
  const profile = known ?? unit.create(identification.own, atMs);
  if (profile.dueMs !== undefined && profile.dueMs <= unit.nowMs) updateDue(unit, loaded, profile);
  profile.firstSeenMs = Math.min(profile.firstSeenMs, atMs);
  profile.lastSeenMs = Math.max(profile.lastSeenMs, atMs);
  unit.touch(profile);

  if (!joinIds(unit, loaded, profile, stored)) unit.refuseJoin(stored.sourceId);
  const traits = message.type === "identify" ? takeTraits(profile, message.traits, unit.leftOut) : [];
  const aggregates = takeEvent(unit, loaded, profile, stored);
  const audiences = known === undefined ? definitions.ofNewProfiles : [];
  updateProfile(unit, loaded, profile, { aggregates, traits, audiences });
  if (aggregates.length > 0) setDue(unit, definitions, profile, false);
}

/** Returns the numbers of the aggregates that changed. */
function takeEvent(
  unit: UnitOfWork,
  { definitions }: EngineState,
  profile: Profile,
  stored: AddressedMessage,
): number[] {
  const { message } = stored;
  const changed: number[] = [];
  if (message.type !== "track" || typeof message.event !== "string") return changed;
  let occurrence: Occurrence | undefined;
  for (const { number, spec } of definitions.specsByEvent.get(message.event) ?? []) {
    occurrence ??= occurrenceOf(stored);
    if (takeOccurrence(unit, profile, number, spec, occurrence)) changed.push(number);
  }
  return changed;
}
