import { isMessageKind, type MessageKind, type UncheckedMessage } from "./message.js";

/** What stands around a message in its request, and applies to it where it says nothing itself. */
export interface Surroundings {
  /** The kind that the path names; it wins over the message's own `type`. */
  readonly kind?: MessageKind;
  /** The batch's context and integrations, merged under the message's own. */
  readonly context?: unknown;
  readonly integrations?: unknown;
  readonly sentAt?: unknown;
}

const OBJECT_FIELDS = ["properties", "traits", "context", "integrations"] as const;
const ID_FIELDS = ["messageId", "userId", "anonymousId", "groupId", "previousId"] as const;

/**
 * Brings the forms that existing clients send into one: null and PHP's `[]` for an empty object, numeric ids,
 * a kind only in the path, context on the batch, `traits` on page and screen. Changes the message it is given
 * and returns it; a message that needs nothing is not touched.
 */
export function coerce(message: UncheckedMessage, around: Surroundings = {}): UncheckedMessage {
  if (around.kind !== undefined && message.type !== around.kind) message.type = around.kind;
  for (const field of ID_FIELDS) {
    const value = message[field];
    if (value === undefined || typeof value === "string") continue;
    if (value === null) delete message[field];
    else {
      const digits = digitsOf(value);
      if (digits !== undefined) message[field] = digits;
    }
  }
  for (const field of OBJECT_FIELDS) {
    const value = message[field];
    if (value === undefined) continue;
    if (value === null) delete message[field];
    else if (Array.isArray(value) && value.length === 0) message[field] = {};
  }
  for (const field of ["timestamp", "originalTimestamp", "sentAt", "name", "category", "event"]) {
    if (message[field] === null) delete message[field];
  }
  if ((message.type === "page" || message.type === "screen") && message.properties === undefined) {
    if (message.traits !== undefined) {
      message.properties = message.traits;
      delete message.traits;
    }
  }
  mergeUnder(message, "context", around.context);
  mergeUnder(message, "integrations", around.integrations);
  if (message.sentAt === undefined && typeof around.sentAt === "string") message.sentAt = around.sentAt;
  return message;
}

/** The kind a message names, if it is one. */
export function kindOf(message: UncheckedMessage): MessageKind | undefined {
  return isMessageKind(message.type) ? message.type : undefined;
}

function mergeUnder(message: UncheckedMessage, field: "context" | "integrations", base: unknown): void {
  if (!isPlainObject(base)) return;
  const own = message[field];
  if (own === undefined) message[field] = { ...base };
  else if (isPlainObject(own)) message[field] = { ...base, ...own };
}

/** A number's digits: of a finite number, or of one that a parser kept as raw JSON because a double cannot hold it. */
export function digitsOf(value: unknown): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : undefined;
  if (typeof value === "bigint") return value.toString();
  return isRawJson(value) ? value.rawJSON : undefined;
}

/** Whether a value is an object as JSON knows it: no array, and no number kept as raw JSON. */
export function isPlainObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isRawJson(value);
}

/** What `JSON.rawJSON` makes: a frozen object without prototype. A client's own `{"rawJSON": …}` has one. */
export function isRawJson(value: unknown): value is { readonly rawJSON: string } {
  return (
    typeof value === "object" &&
    value !== null &&
    Object.getPrototypeOf(value) === null &&
    Object.isFrozen(value) &&
    Object.hasOwn(value, "rawJSON")
  );
}
