import { isMessageKind, type MessageKind, type UncheckedMessage } from "./message.js";

/** The parts of a request that apply to a message that does not have them itself. */
export interface Surroundings {
  /** The kind that the path names. It replaces the message's own `type`. */
  readonly kind?: MessageKind;
  /** The batch's context and integrations. The message's own fields win. */
  readonly context?: unknown;
  readonly integrations?: unknown;
  readonly sentAt?: unknown;
}

const OBJECT_FIELDS = ["properties", "traits", "context", "integrations"] as const;
const ID_FIELDS = ["messageId", "userId", "anonymousId", "groupId", "previousId"] as const;
const TEXT_FIELDS = ["timestamp", "originalTimestamp", "sentAt", "name", "category", "event"] as const;

/**
 * Normalizes what existing clients send: null and PHP's `[]` for an empty object, numeric ids, a kind that only the path
 * names, context on the batch, `traits` on page and screen, an identify's traits in its context. Changes the given message and
 * returns it.
 */
export function coerce(message: UncheckedMessage, around: Surroundings = {}): UncheckedMessage {
  if (around.kind !== undefined && message.type !== around.kind) message.type = around.kind;
  for (const field of ID_FIELDS) coerceId(message, field);
  for (const field of OBJECT_FIELDS) coerceObject(message, field);
  for (const field of TEXT_FIELDS) if (message[field] === null) delete message[field];
  if (message.type === "page" || message.type === "screen") renameTraits(message);
  if (message.type === "identify") liftTraits(message);
  mergeUnder(message, "context", around.context);
  mergeUnder(message, "integrations", around.integrations);
  if (message.sentAt === undefined && typeof around.sentAt === "string") message.sentAt = around.sentAt;
  return message;
}

function coerceId(message: UncheckedMessage, field: string): void {
  const value = message[field];
  if (value === undefined || typeof value === "string") return;
  if (value === null) {
    delete message[field];
    return;
  }
  const digits = digitsOf(value);
  if (digits !== undefined) message[field] = digits;
}

function coerceObject(message: UncheckedMessage, field: string): void {
  const value = message[field];
  if (value === undefined) return;
  if (value === null) delete message[field];
  else if (Array.isArray(value) && value.length === 0) message[field] = {};
}

/** Some clients send a page's properties as traits. */
function renameTraits(message: UncheckedMessage): void {
  if (message.properties !== undefined || message.traits === undefined) return;
  message.properties = message.traits;
  delete message.traits;
}

/** RudderStack's clients send the traits of an identify in its context. */
function liftTraits(message: UncheckedMessage): void {
  const { context } = message;
  if (message.traits !== undefined || !isPlainObject(context) || !isPlainObject(context.traits)) return;
  message.traits = context.traits;
}

/** The message's kind; undefined if its `type` is unknown. */
export function kindOf(message: UncheckedMessage): MessageKind | undefined {
  return isMessageKind(message.type) ? message.type : undefined;
}

function mergeUnder(message: UncheckedMessage, field: "context" | "integrations", base: unknown): void {
  if (!isPlainObject(base)) return;
  const own = message[field];
  if (own === undefined) message[field] = { ...base };
  else if (isPlainObject(own)) message[field] = { ...base, ...own };
}

/** The digits of a finite number, or of one that a parser kept as raw JSON because a double cannot hold it. */
export function digitsOf(value: unknown): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : undefined;
  if (typeof value === "bigint") return value.toString();
  return isRawJson(value) ? value.rawJSON : undefined;
}

/** Whether a value is a JSON object: not an array, and not a number kept as raw JSON. */
export function isPlainObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isRawJson(value);
}

/** Whether `JSON.rawJSON` created the value: a frozen object without a prototype. A client's own `{"rawJSON": …}` has one. */
export function isRawJson(value: unknown): value is { readonly rawJSON: string } {
  return (
    typeof value === "object" &&
    value !== null &&
    Object.getPrototypeOf(value) === null &&
    Object.isFrozen(value) &&
    Object.hasOwn(value, "rawJSON")
  );
}
