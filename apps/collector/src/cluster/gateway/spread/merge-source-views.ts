import type { EventListView, EventView, UsageView } from "@sluice/control-api";
import { keyOf } from "../../../events/source-events.js";

/** Days of several partitions as one list, newest first. */
export function mergeUsage(parts: readonly UsageView[]): UsageView {
  const days = new Map<string, UsageView["days"][number]>();
  for (const day of parts.flatMap((part) => part.days)) {
    const known = days.get(day.day) ?? { day: day.day, accepted: 0, filtered: 0, delivered: 0 };
    days.set(day.day, {
      day: day.day,
      accepted: known.accepted + day.accepted,
      filtered: known.filtered + day.filtered,
      delivered: known.delivered + day.delivered,
    });
  }
  return { days: [...days.values()].sort((one, other) => (one.day < other.day ? 1 : -1)) };
}

export interface MergedEvents extends Omit<EventListView, "nextCursor"> {
  /** Where each partition's list goes on: behind this name; undefined: as before. No places: this is the end. */
  readonly places: readonly (string | undefined)[] | undefined;
}

/**
 * Pages of the names of a source, which all begin behind the same name, as one page of at most `limit`. The same names are in several
 * partitions, so how many there are is known only if all are here; else it is the most that one partition has.
 */
export function mergeEvents(parts: readonly EventListView[], limit: number): MergedEvents {
  const merged = new Map<string, EventView>();
  for (const event of parts.flatMap(({ items }) => items)) {
    const known = merged.get(keyOf(event));
    merged.set(keyOf(event), known === undefined ? event : mergeEvent(known, event));
  }
  const keys = [...merged.keys()].sort();
  const taken = keys.slice(0, limit);
  const last = taken.at(-1);
  const isEnd = taken.length === keys.length && parts.every(({ nextCursor }) => nextCursor === undefined);
  const areAllHere = isEnd && parts.every(({ items, names }) => items.length === names);
  return {
    items: taken.map((key) => merged.get(key) as EventView),
    names: areAllHere ? keys.length : Math.max(...parts.map(({ names }) => names)),
    notKept: Math.max(...parts.map(({ notKept }) => notKept)),
    behind: parts.reduce((sum, { behind }) => sum + behind, 0),
    places: isEnd || last === undefined ? undefined : parts.map(({ items }) => lastUpTo(items, last)),
  };
}

function lastUpTo(items: readonly EventView[], last: string): string | undefined {
  const event = items.findLast((one) => keyOf(one) <= last);
  return event && keyOf(event);
}

type Violation = NonNullable<EventView["lastViolation"]>;
type Example = NonNullable<EventView["example"]>;

function mergeEvent(one: EventView, other: EventView): EventView {
  const lastViolation = later<Violation>(one.lastViolation, other.lastViolation, ({ at }) => at);
  const example = later<Example>(one.example, other.example, ({ receivedAt }) => receivedAt);
  return {
    ...one,
    count: one.count + other.count,
    firstSeenAt: one.firstSeenAt < other.firstSeenAt ? one.firstSeenAt : other.firstSeenAt,
    lastSeenAt: one.lastSeenAt > other.lastSeenAt ? one.lastSeenAt : other.lastSeenAt,
    violations: one.violations + other.violations,
    sampled: one.sampled + other.sampled,
    properties: mergeProperties(one.properties, other.properties),
    ...(one.hasMoreProperties || other.hasMoreProperties ? { hasMoreProperties: true } : {}),
    ...(lastViolation === undefined ? {} : { lastViolation }),
    ...(example === undefined ? {} : { example }),
  };
}

function later<T>(one: T | undefined, other: T | undefined, timeOf: (value: T) => string): T | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return timeOf(one) >= timeOf(other) ? one : other;
}

function mergeProperties(one: EventView["properties"], other: EventView["properties"]) {
  const merged = new Map<string, EventView["properties"][number]>();
  for (const { name, types, seen } of [...one, ...other]) {
    const known = merged.get(name);
    merged.set(name, {
      name,
      types: [...new Set([...(known?.types ?? []), ...types])],
      seen: (known?.seen ?? 0) + seen,
    });
  }
  return [...merged.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
