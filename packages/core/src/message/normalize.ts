import { coerce, isPlainObject, type JsonObject, type MessageKind } from "@sluice/protocol";
import type { CallContext } from "./call-context.js";

export interface MessageDefaults {
  /** The `library` of each message's context, unless the client's or the message's context has one. */
  readonly library?: { readonly name: string; readonly version: string } | undefined;
  /** Merged under each message's own `context`, key by key, one level deep. */
  readonly context?: JsonObject | undefined;
  readonly integrations?: JsonObject | undefined;
  /** The ids of `withContext`, for calls that have none themselves. */
  readonly ids?: CallContext | undefined;
}

/** Values for fields that the caller did not set. */
export interface Stamp {
  readonly messageId: string;
  /** The time of the call, ISO 8601. */
  readonly calledAt: string;
}

const OBJECT_FIELDS = ["properties", "traits", "context", "integrations"] as const;

/**
 * Makes the message of a call: a copy of the caller's object with its kind, an id, and either the caller's `timestamp` or the time of
 * the call. Reads each field of `input` once. Throws what a getter of `input` throws.
 */
export function normalize(
  kind: MessageKind,
  input: object,
  stamp: Stamp,
  defaults: MessageDefaults,
): JsonObject {
  // The fields that are added come before the spread: adding them after it gives every message a hidden class of its own on the V8 of
  // Node.js 20, and a call takes three times as long.
  const message: JsonObject = {
    type: kind,
    messageId: stamp.messageId,
    originalTimestamp: stamp.calledAt,
    ...input,
  };
  if (message.type !== kind) message.type = kind;
  if (message.messageId === undefined || message.messageId === null || message.messageId === "") {
    message.messageId = stamp.messageId;
  }
  if (message.timestamp !== undefined) normalizeTimestamp(message);
  if (message.timestamp === undefined) message.originalTimestamp = stamp.calledAt;
  // Undefined is not sent. Deleting the field would make the object slow.
  else if (message.originalTimestamp === stamp.calledAt) message.originalTimestamp = undefined;
  // The result of `toJSON` would be sent, so it must be what is checked.
  for (const field of OBJECT_FIELDS) {
    const value = message[field] as { toJSON?: unknown } | null | undefined;
    if (typeof value?.toJSON === "function") message[field] = value.toJSON(field);
  }
  if (message.toJSON !== undefined) delete message.toJSON;
  coerce(message, { integrations: defaults.integrations });
  if (defaults.library !== undefined || defaults.context !== undefined) mergeContext(message, defaults);
  return message;
}

/** The message's own keys win. `library` comes before the spreads for the same reason as above. */
function mergeContext(message: JsonObject, { library, context }: MessageDefaults): void {
  const own = message.context;
  if (own === undefined) message.context = { library, ...context };
  else if (isPlainObject(own)) message.context = { library, ...context, ...own };
}

/** Keeps a string as it is, turns a Date or a number of milliseconds into ISO 8601, and drops everything else. */
function normalizeTimestamp(message: JsonObject): void {
  const { timestamp } = message;
  if (typeof timestamp === "string" && timestamp !== "") return;
  const ms = timestamp instanceof Date ? timestamp.getTime() : timestamp;
  if (typeof ms === "number" && Math.abs(ms) <= 8.64e15) message.timestamp = new Date(ms).toISOString();
  else delete message.timestamp;
}
