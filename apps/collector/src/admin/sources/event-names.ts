import type { EventNamesView } from "@sluice/control-api";
import { ENTRY_LIMITS, type EventEntry } from "../../events/event-entry.js";

const LIMITS = { names: 1_000, properties: 100 } as const;

type Counted = Pick<EventEntry, "type" | "name" | "count" | "properties">;

/** The track events of several sources by name: those that were sent most, each with the properties of all sources. */
export function eventNames(entries: Iterable<Counted>): EventNamesView {
  const byName = new Map<string, { count: number; readonly properties: Set<string> }>();
  for (const { type, name, count, properties } of entries) {
    // A name of the full length may have been cut.
    if (type !== "track" || name === undefined || name.length >= ENTRY_LIMITS.nameLength) continue;
    const merged = byName.get(name) ?? { count: 0, properties: new Set<string>() };
    merged.count += count;
    for (const property of Object.keys(properties)) merged.properties.add(property);
    byName.set(name, merged);
  }
  const items = [...byName]
    .sort(([, one], [, other]) => other.count - one.count)
    .slice(0, LIMITS.names)
    .map(([name, { properties }]) => ({
      name,
      properties: [...properties].sort().slice(0, LIMITS.properties),
    }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  return { items };
}
