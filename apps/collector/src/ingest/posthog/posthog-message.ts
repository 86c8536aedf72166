import { isPlainObject } from "@sluice/protocol";

type Fields = { readonly [name: string]: unknown };

/**
 * PostHog's event as a message, not validated yet. Properties whose names begin with `$` are PostHog's own: those that a message has a
 * place for go there, the others to `context.posthog`.
 */
export function messageOf(event: Fields): Fields {
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
