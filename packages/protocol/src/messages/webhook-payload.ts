import type { JsonObject, OutboundKind } from "./message.js";

/** The fields of a webhook body. `classic`: only those of the documented table. `full`: also all other fields of the message. */
export type PayloadShape = "full" | "classic";

/** Fields of each kind between `version, type` and `timestamp`, in the documented order. */
const TABLE: Readonly<
  Record<OutboundKind, readonly (readonly [from: string, to: string, absent?: "object"])[]>
> = {
  page: [
    ["userId", "userId"],
    ["properties", "properties", "object"],
  ],
  screen: [
    ["userId", "userId"],
    ["name", "name"],
  ],
  identify: [
    ["userId", "userId"],
    ["traits", "traits", "object"],
  ],
  track: [
    ["userId", "userId"],
    ["event", "event"],
    ["properties", "properties", "object"],
  ],
  alias: [
    ["previousId", "Previous ID"],
    ["userId", "User ID"],
  ],
  group: [
    ["groupId", "groupId"],
    ["userId", "userId"],
    ["traits", "traits", "object"],
  ],
  delete: [
    ["userId", "userId"],
    ["anonymousId", "anonymousId"],
  ],
};

/**
 * Per kind, the fields of a message that are not copied after those of the table: the ones already written, the time, and
 * the write key, which is a secret of the source.
 */
const TAKEN: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(TABLE).map(([kind, fields]) => [
    kind,
    new Set(["version", "type", "timestamp", "writeKey", ...fields.map(([from]) => from)]),
  ]),
);

/**
 * The body of a webhook request for a coerced and valid message. Fields come in the documented order. An absent `userId` is
 * left out; absent properties or traits are `{}`. A field that the table renames (alias) is not repeated under its own name.
 */
export function webhookPayload(
  message: { readonly type: OutboundKind; readonly [field: string]: unknown },
  timestamp: string,
  shape: PayloadShape = "full",
): JsonObject {
  const { type } = message;
  const body: JsonObject = type === "delete" ? { type } : { version: 1, type };
  for (const [from, to, absent] of TABLE[type]) {
    const value = message[from];
    if (value !== undefined) body[to] = value;
    else if (absent === "object") body[to] = {};
  }
  body.timestamp = timestamp;
  if (type === "screen" && message.context !== undefined) body.context = message.context;
  if (shape === "classic" || type === "delete") return body;
  addOtherFields(body, message, TAKEN.get(type));
  return body;
}

function addOtherFields(
  body: JsonObject,
  message: { readonly [field: string]: unknown },
  taken: ReadonlySet<string> | undefined,
): void {
  for (const field of Object.keys(message)) {
    if (taken?.has(field) || Object.hasOwn(body, field)) continue;
    const value = message[field];
    if (field !== "__proto__") body[field] = value;
    // An assignment would set the prototype.
    else Object.defineProperty(body, field, { value, enumerable: true, configurable: true, writable: true });
  }
}
