import type { EventNamesView } from "@sluice/control-api";
import { isPlainObject, type JsonObject } from "@sluice/protocol";

/** A name that can be typed next, and what is known of its value. */
export interface KnownName {
  readonly label: string;
  readonly detail?: string;
}

/** Names by the dotted path of what they belong to: `message.properties`. Those of values are event names in quotes. */
export type KnownFields = ReadonlyMap<string, readonly KnownName[]>;

/** Fields that messages have whether or not one of them was seen. */
const FIELDS: Readonly<Record<string, string>> = {
  type: "string",
  messageId: "string",
  userId: "string",
  anonymousId: "string",
  event: "string, of track",
  properties: "object, of track, page and screen",
  traits: "object, of identify and group",
  name: "string, of page and screen",
  groupId: "string, of group",
  previousId: "string, of alias",
  context: "object",
  integrations: "object",
  timestamp: "ISO 8601",
  receivedAt: "ISO 8601",
};
const DEEPEST = 4;

/** What can follow a path in the code: fields of seen messages and of known events, names of secrets, ways to log. */
export function knownFields(
  messages: readonly JsonObject[],
  events: EventNamesView["items"],
  secretNames: readonly string[],
): KnownFields {
  const known = new Map<string, Map<string, string>>();
  const add = (path: string, name: string, detail: string) => {
    const names = known.get(path) ?? new Map<string, string>();
    known.set(path, names);
    if (!names.has(name)) names.set(name, detail);
  };
  for (const [name, detail] of Object.entries(FIELDS)) add("message", name, detail);
  for (const level of ["info", "warn", "error"]) add("log", level, "logs a line");
  for (const name of secretNames) add("secrets", name, "secret");
  const walk = (path: string, value: JsonObject, depth: number) => {
    for (const [name, child] of Object.entries(value)) {
      add(path, name, Array.isArray(child) ? "array" : child === null ? "null" : typeof child);
      if (isPlainObject(child) && depth < DEEPEST) walk(`${path}.${name}`, child as JsonObject, depth + 1);
    }
  };
  for (const message of messages) walk("message", message, 0);
  for (const { name, properties } of events) {
    add('message.event=""', name, "event");
    for (const property of properties) add("message.properties", property, `of ${name}`);
  }
  return new Map(
    [...known].map(([path, names]) => [path, [...names].map(([label, detail]) => ({ label, detail }))]),
  );
}

/** The names for the end of a line as typed, and where the text begins that they replace. */
export function completionsAt(
  line: string,
  known: KnownFields,
): { readonly from: number; readonly names: readonly KnownName[] } | undefined {
  const quoted = /\bmessage\.event\s*(?:[!=]==?)\s*["'`]([^"'`]*)$/.exec(line);
  const path = /([A-Za-z_$][\w$]*(?:\s*\??\.\s*[A-Za-z_$][\w$]*)*)\s*\??\.\s*([\w$]*)$/.exec(line);
  const [text, names] =
    quoted !== null
      ? [quoted[1] ?? "", known.get('message.event=""')]
      : [path?.[2] ?? "", known.get((path?.[1] ?? "").replace(/[\s?]/g, ""))];
  if (names === undefined || names.length === 0) return undefined;
  // Other names need brackets: to choose one would be a mistake of syntax.
  const fitting = quoted === null ? names.filter(({ label }) => /^[A-Za-z_$][\w$]*$/.test(label)) : names;
  return { from: line.length - text.length, names: fitting };
}
