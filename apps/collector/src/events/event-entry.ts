import type { StoredMessage } from "@sluice/event-log";
import { isPlainObject, type JsonType, jsonTypeOf, type Violation } from "@sluice/protocol";

/** How much is kept of one name, so that a sender cannot make the catalog large. */
export const ENTRY_LIMITS = {
  nameLength: 200,
  properties: 100,
  propertyNameLength: 100,
} as const;

/** The messages of one kind and name. JSON, as it is stored. */
export interface EventEntry {
  readonly type: string;
  /** The event of a track message, the name of a page or screen. Absent: the kind has no names, or the message had none. */
  readonly name?: string;
  count: number;
  readonly firstMs: number;
  lastMs: number;
  /** How many messages were looked into. */
  sampled: number;
  /** Name → the types that its values had, and in how many sampled messages it was. */
  readonly properties: Record<string, PropertyEntry>;
  /** Properties were left out, because there are too many or their names are too long. */
  hasMoreProperties?: true;
  /** The offset of the newest message that was looked into. The log is the only copy of its id and contents: a deletion removes them there. */
  example?: number;
  violations?: number;
  /** The message says which field, and what is wrong with it. */
  lastViolation?: Violation & { readonly atMs: number };
}

export interface PropertyEntry {
  types: JsonType[];
  seen: number;
}

/** The kind and name of a message; the name is cut. */
export function eventOf(message: { readonly [field: string]: unknown }): Pick<EventEntry, "type" | "name"> {
  const type = String(message.type);
  const name =
    type === "track" ? message.event : type === "page" || type === "screen" ? message.name : undefined;
  return typeof name === "string" && name !== ""
    ? { type, name: name.slice(0, ENTRY_LIMITS.nameLength) }
    : { type };
}

export function newEntry(event: Pick<EventEntry, "type" | "name">, atMs: number): EventEntry {
  // Copied: a slice of a request's text would keep the whole text in memory.
  const { type, name } = structuredClone(event);
  const properties = Object.create(null) as EventEntry["properties"];
  return {
    type,
    ...(name === undefined ? {} : { name }),
    count: 0,
    firstMs: atMs,
    lastMs: atMs,
    sampled: 0,
    properties,
  };
}

export function countMessage(entry: EventEntry, atMs: number, messages = 1): void {
  entry.count += messages;
  entry.lastMs = Math.max(entry.lastMs, atMs);
}

/** Looks into a message: the names and types of its properties or traits. Adds at most `room` properties, and returns how many. */
export function sampleMessage(
  entry: EventEntry,
  { message, offset }: Pick<StoredMessage, "message" | "offset">,
  room: number,
): number {
  entry.sampled++;
  entry.example = offset;
  const { properties, traits } = message;
  const fields = isPlainObject(properties) ? properties : isPlainObject(traits) ? traits : {};
  const before = Object.keys(entry.properties).length;
  const most = Math.min(ENTRY_LIMITS.properties, before + room);
  let known = before;
  for (const [name, value] of Object.entries(fields)) {
    const property = entry.properties[name];
    if (property !== undefined) addType(property, jsonTypeOf(value));
    else if (known >= most || name.length > ENTRY_LIMITS.propertyNameLength) entry.hasMoreProperties = true;
    else {
      entry.properties[structuredClone(name)] = { types: [jsonTypeOf(value)], seen: 1 };
      known++;
    }
  }
  return known - before;
}

function addType(property: PropertyEntry, type: JsonType): void {
  property.seen++;
  if (!property.types.includes(type)) property.types.push(type);
}

export function countViolation(entry: EventEntry, violation: NonNullable<EventEntry["lastViolation"]>): void {
  entry.violations = (entry.violations ?? 0) + 1;
  entry.lastViolation = structuredClone(violation);
}
