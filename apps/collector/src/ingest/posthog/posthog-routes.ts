import { findTexts } from "@sluice/event-log";
import { isPlainObject, LIMITS } from "@sluice/protocol";
import type { Handler, HttpRequest, Route } from "../../http/routing.js";
import type { Ingest } from "../ingest.js";
import { openBatch } from "../messages/open-request.js";
import { eventLoopTurns, runInTurns } from "../messages/validate-messages.js";
import type { SourceDirectory } from "../sources/source-directory.js";

type Fields = { readonly [name: string]: unknown };

/**
 * PostHog's event as a message, not validated yet. Properties whose names begin with `$` are PostHog's own: those that a message has a
 * place for go there, the others to `context.posthog`.
 */
function messageOf(event: Fields): Fields {
  const all = fieldsOf(event.properties);
  const properties = named(all, (name) => !name.startsWith("$"));
  const traits = traitsOf(event, all);
  const common = {
    messageId: event.uuid,
    ...userOf(event, all),
    timestamp: event.timestamp,
    context: contextOf(all),
  };
  switch (event.event) {
    case "$identify":
    case "$set":
    case "$set_once":
      return { type: "identify", ...common, traits: traits ?? {}, ...unlessEmpty({ properties }) };
    case "$create_alias": {
      const { alias, distinct_id: _, ...rest } = properties;
      return { type: "alias", ...common, previousId: alias, ...unlessEmpty({ properties: rest }) };
    }
    case "$groupidentify":
      return {
        type: "group",
        ...common,
        groupId: all.$group_key,
        traits: all.$group_set,
        ...unlessEmpty({ properties }),
      };
    case "$pageview":
      return { type: "page", ...common, properties: { ...pageOf(all), ...properties } };
    case "$screen":
      return { type: "screen", ...common, name: all.$screen_name, properties };
    default: {
      const context = { ...common.context, ...(traits === undefined ? {} : { traits }) };
      return { type: "track", ...common, context, event: event.event, properties };
    }
  }
}

const fieldsOf = (value: unknown): Fields => (isPlainObject(value) ? value : {});

function named(fields: Fields, isWanted: (name: string) => boolean): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => isWanted(name)));
}

function unlessEmpty(fields: { readonly properties: Fields }): Partial<typeof fields> {
  return Object.keys(fields.properties).length === 0 ? {} : fields;
}

/** The traits that an event sets. Clients put them beside the properties, or into them. */
function traitsOf(event: Fields, all: Fields): Fields | undefined {
  const set = event.$set ?? all.$set;
  const setOnce = event.$set_once ?? all.$set_once;
  return set === undefined && setOnce === undefined ? undefined : { ...fieldsOf(setOnce), ...fieldsOf(set) };
}

/** PostHog has one id for both kinds of visitors. It is not a user's if the event is without a person, or if a group's name replaces it. */
function userOf(event: Fields, all: Fields): Fields {
  const id = event.distinct_id ?? event.$distinct_id ?? all.distinct_id;
  const isOfGroup = event.event === "$groupidentify" && id === `$${all.$group_type}_${all.$group_key}`;
  if (isOfGroup || all.$process_person_profile === false) return { anonymousId: id };
  return { userId: id, anonymousId: all.$anon_distinct_id };
}

const PLACED: ReadonlySet<string> = new Set([
  ...["$lib", "$lib_version", "$ip", "$set", "$set_once", "$anon_distinct_id"],
  ...["$current_url", "$pathname", "$title", "$referrer", "$screen_name", "$group_key", "$group_set"],
]);

function contextOf(all: Fields): Fields {
  const posthog = named(all, (name) => name.startsWith("$") && !PLACED.has(name));
  return {
    library: { name: all.$lib, version: all.$lib_version },
    ip: all.$ip,
    page: all.$current_url === undefined ? undefined : pageOf(all),
    ...(Object.keys(posthog).length === 0 ? {} : { posthog }),
  };
}

function pageOf({ $current_url, $pathname, $title, $referrer }: Fields): Fields {
  return { url: $current_url, path: $pathname, title: $title, referrer: $referrer };
}

const API_KEY: ReadonlySet<string> = new Set(["api_key"]);

/** The project key of PostHog's request, found without parsing. */
function apiKeyOf(body: Uint8Array): string | undefined {
  return findTexts(body, API_KEY).api_key;
}

/** A batch without messages, for a request that is refused because of its key. */
function emptyBatch(writeKey: string | undefined): Uint8Array {
  return Buffer.from(JSON.stringify({ writeKey, batch: [] }));
}

/**
 * Writes PostHog's request, a batch or a single event, as a batch of messages. Yields after every few milliseconds of work. Events that
 * cannot be a message, or are too large, stay as they are, to be rejected one by one.
 */
function* translateRequest(body: Uint8Array, writeKey: string): Generator<void, Uint8Array> {
  const { items, root, isBatch, deepItems, largeItems, bytesOf } = yield* openBatch(body);
  const { sent_at: sentAt } = root ?? {};
  const texts = items.map((item, index) => {
    const isUnparsed = deepItems.has(index) || largeItems.has(index);
    if (isUnparsed || !isPlainObject(item)) return Buffer.from(bytesOf(index)).toString();
    const { api_key: _, ...event } = item;
    return JSON.stringify(messageOf(isBatch ? item : event));
  });
  const envelope = JSON.stringify({ writeKey, sentAt });
  return Buffer.from(`${envelope.slice(0, -1)},"batch":[${texts.join()}]}`);
}

/** Where PostHog's server libraries send events: several, or one. */
const PATHS = ["/batch", "/capture", "/i/v0/e"];

/** PostHog's capture API. Its requests become batches of our messages before anything else looks at them. */
export function posthogRoutes(ingest: Ingest, sources: Pick<SourceDirectory, "find">): Route[] {
  const nextTurn = eventLoopTurns();
  const readTranslated = async (request: HttpRequest): Promise<Uint8Array> => {
    const body = await request.readBody(LIMITS.batchBytes);
    const key = apiKeyOf(body);
    if (key === undefined || sources.find(key) === undefined) return emptyBatch(key);
    return runInTurns(translateRequest(body, key), nextTurn);
  };
  const capture: Handler = async (request) => ({
    status: 200,
    body: await ingest.take(request, undefined, () => readTranslated(request)),
  });
  return PATHS.map((path) => ({ path, cors: true, methods: { POST: capture } }));
}
