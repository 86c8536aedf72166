import type { JsonObject, OutboundKind } from "./message.js";

/** Which fields a webhook body carries: the documented table's alone, or those and whatever else the message had. */
export type PayloadShape = "full" | "classic";

/** Fields of each kind between `version, type` and `timestamp`, in the order of the interface's table 2.2. */
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
 * Of each kind, the fields of a message that are not repeated behind those of the table: written already, the time, and the
 * write key, which is a secret of the source.
 */
const TAKEN: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(TABLE).map(([kind, fields]) => [
    kind,
    new Set(["version", "type", "timestamp", "writeKey", ...fields.map(([from]) => from)]),
  ]),
);

/**
 * The body of a webhook request for `message` (checked and coerced), with the time already settled. Written in the
 * documented order; an absent `userId` is left out, absent properties or traits are `{}`. A field that the table
 * takes from the message under another name (alias) is not repeated under its own.
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
  const taken = TAKEN.get(type);
  for (const field of Object.keys(message)) {
    if (taken?.has(field) || Object.hasOwn(body, field)) continue;
    if (field === "__proto__") addOwn(body, field, message[field]);
    else body[field] = message[field];
  }
  return body;
}

/** Assigning to it would set the prototype: this field is data like any other. */
function addOwn(body: JsonObject, field: string, value: unknown): void {
  Object.defineProperty(body, field, { value, enumerable: true, configurable: true, writable: true });
}
