import type { JsonObject } from "@sluice/protocol";

/** The Ruby library's field names and ours. Names of one word are the same in both. */
const CAMEL: Readonly<Record<string, string>> = {
  user_id: "userId",
  anonymous_id: "anonymousId",
  message_id: "messageId",
  group_id: "groupId",
  previous_id: "previousId",
};

type Camel<Field> = Field extends "user_id"
  ? "userId"
  : Field extends "anonymous_id"
    ? "anonymousId"
    : Field extends "message_id"
      ? "messageId"
      : Field extends "group_id"
        ? "groupId"
        : Field extends "previous_id"
          ? "previousId"
          : Field;

/**
 * Renames a call's fields from the Ruby library's names to ours. Only the message's own fields are renamed: traits, properties and
 * context are data and stay as they are. If a field is given under both names, the camelCase one is used. Never throws: it returns an
 * argument that cannot be read as it is, and the call refuses it.
 *
 * @example
 * analytics.track(fromSnakeCase({ user_id: "u1", event: "Signed Up", message_id: "m1" }));
 */
export function fromSnakeCase<Fields extends JsonObject>(
  fields: Fields,
): { [Field in keyof Fields as Camel<Field>]: Fields[Field] } {
  let renamed: object = fields;
  try {
    if (typeof fields === "object" && fields !== null && !Array.isArray(fields))
      renamed = renameFields(fields);
  } catch {
    // A getter or a proxy of the caller threw.
  }
  return renamed as { [Field in keyof Fields as Camel<Field>]: Fields[Field] };
}

function renameFields(fields: JsonObject): JsonObject {
  const camel: JsonObject = {};
  for (const [field, value] of Object.entries(fields)) {
    const name = Object.hasOwn(CAMEL, field) ? CAMEL[field] : undefined;
    if (name === undefined) camel[field] = value;
    else if (fields[name] === undefined) camel[name] = value;
  }
  return camel;
}
