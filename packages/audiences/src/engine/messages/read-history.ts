import { lastMessageIndex, type Offset, offsetAt, type StoredBatch } from "@sluice/event-log";
import { type AggregateProgress, isRead } from "../../definitions/definition-state.js";
import { isSetAside, readable } from "../../profiles/crash-marker.js";
import { identificationOf } from "../../profiles/identities.js";
import type { UnitOfWork } from "../../profiles/unit-of-work.js";
import { setDue } from "../evaluation/due-time.js";
import type { EngineState } from "../state/engine-state.js";
import { promote } from "../state/engine-state.js";
import { eventsOf, type TrackEvent, takeOccurrence } from "./take-message.js";

type Missing = readonly [number: number, progress: AggregateProgress];

/** Adds the next part of the past to the aggregates that lack it. Without batches the log has no more of it. */
export async function readHistory(
  unit: UnitOfWork,
  loaded: EngineState,
  batches: readonly StoredBatch[],
): Promise<void> {
  const missing = missingOf(loaded);
  const events = new Set(missing.map(([, { aspect }]) => aspect.event));
  const after = Math.min(...missing.map(([, { cursor }]) => cursor));
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

function missingOf({ aggregates }: EngineState): readonly Missing[] {
  return [...aggregates].filter(([, progress]) => !isRead(progress));
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
  for (const [number, { aspect, cursor, upTo }] of missing) {
    const isMissing = occurrence.offset > cursor && occurrence.offset <= upTo;
    if (isMissing && aspect.event === event) takeOccurrence(unit, profile, number, aspect, occurrence);
  }
  setDue(unit, loaded.definitions, profile, false);
  return true;
}

/** `end`: the last message that was read; undefined at the end of the log. */
function moveCursors(unit: UnitOfWork, missing: readonly Missing[], end: Offset | undefined): void {
  for (const [number, progress] of missing) {
    const { cursor, upTo } = progress;
    progress.cursor = end === undefined || end >= upTo ? upTo : (Math.max(end, cursor) as Offset);
    unit.putAggregate(number, progress);
  }
}
