import { coerce, type JsonObject, type MessageKind } from "@sluice/protocol";

export interface MessageDefaults {
  /** Merged under each message's own `context`, key by key, one level deep. */
  readonly context?: JsonObject | undefined;
  readonly integrations?: JsonObject | undefined;
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
  const message: JsonObject = { ...input };
  message.type = kind;
  if (message.messageId === undefined || message.messageId === null || message.messageId === "") {
    message.messageId = stamp.messageId;
  }
  if (message.timestamp !== undefined) normalizeTimestamp(message);
  if (message.timestamp === undefined) message.originalTimestamp = stamp.calledAt;
  // The result of `toJSON` would be sent, so it must be what is checked.
  for (const field of OBJECT_FIELDS) {
    const value = message[field] as { toJSON?: unknown } | null | undefined;
    if (typeof value?.toJSON === "function") message[field] = value.toJSON(field);
  }
  if (message.toJSON !== undefined) delete message.toJSON;
  return coerce(message, defaults);
}

/** Keeps a string as it is, turns a Date or a number of milliseconds into ISO 8601, and drops everything else. */
function normalizeTimestamp(message: JsonObject): void {
  const { timestamp } = message;
  if (typeof timestamp === "string" && timestamp !== "") return;
  const ms = timestamp instanceof Date ? timestamp.getTime() : timestamp;
  if (typeof ms === "number" && Math.abs(ms) <= 8.64e15) message.timestamp = new Date(ms).toISOString();
  else delete message.timestamp;
}
