import { lastMessageIndex, type Offset, offsetAt, type StoredBatch } from "@sluice/event-log";
import { type AggregateProgress, type Past, pastsOf } from "../../definitions/definition-state.js";
import { identificationOf } from "../../profiles/identities.js";
import { partitionOfCursor } from "../../profiles/partition-offsets.js";
import { isSetAside, readable } from "../../profiles/set-aside.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";
import { setDue } from "../evaluation/due-time.js";
import type { EngineState } from "../state/engine-state.js";
import { promote } from "../state/promote.js";
import { takeOccurrence } from "./take-occurrence.js";
import { eventsOf, type TrackEvent } from "./track-events.js";

type Missing = readonly [number: number, progress: AggregateProgress, past: Past];

/** Adds the next part of a partition's past to the aggregates that lack it. Without batches its log has no more of it. */
export async function readHistory(
  unit: UnitOfWork,
  loaded: EngineState,
  batches: readonly StoredBatch[],
  partition: number,
): Promise<void> {
  const missing = missingOf(loaded, partition);
  const events = new Set(missing.map(([, { aspect }]) => aspect.event));
  const after = Math.min(...missing.map(([, , { cursor }]) => cursor));
  const past = readable(batches, loaded.setAside)
    .flatMap((batch) => eventsOf(batch, events))
    .filter(({ occurrence: { offset } }) => offset > after && !isSetAside(loaded.setAside, offset));
  await unit.fetch(past.flatMap(({ message }) => identificationOf(message)?.own ?? []));
  const firstUnread = past.find((event) => !takePastEvent(unit, loaded, missing, event));
  const last = batches.at(-1);
  const end = last === undefined ? undefined : offsetAt(last.first, lastMessageIndex(last));
  moveCursors(
    unit,
    missing,
    firstUnread === undefined ? end : ((firstUnread.occurrence.offset - 1) as Offset),
  );
  promote(unit, loaded);
}

function missingOf({ aggregates }: EngineState, partition: number): readonly Missing[] {
  return [...aggregates].flatMap(([number, progress]) =>
    pastsOf(progress)
      .filter(({ cursor, upTo }) => cursor < upTo && partitionOfCursor(cursor) === partition)
      .map((past) => [number, progress, past] as const),
  );
}

/** False if there was no room to fetch the event's profile. */
function takePastEvent(
  unit: UnitOfWork,
  loaded: EngineState,
  missing: readonly Missing[],
  { message, event, occurrence }: TrackEvent,
): boolean {
  const own = identificationOf(message)?.own ?? "";
  if (unit.isUnfetched(unit.numberOf(own) ?? -1)) return false;
  const profile = unit.find(own);
  if (profile === undefined) return true;
  for (const [number, { aspect }, { cursor, upTo }] of missing) {
    const isMissing = occurrence.offset > cursor && occurrence.offset <= upTo;
    if (isMissing && aspect.event === event) takeOccurrence(unit, profile, number, aspect, occurrence);
  }
  setDue(unit, loaded.definitions, profile, false);
  return true;
}

/** `end`: the last message that was read; undefined at the end of the log. */
function moveCursors(unit: UnitOfWork, missing: readonly Missing[], end: Offset | undefined): void {
  for (const [number, progress, past] of missing) {
    past.cursor = end === undefined || end >= past.upTo ? past.upTo : (Math.max(end, past.cursor) as Offset);
    unit.putAggregate(number, progress);
  }
}
