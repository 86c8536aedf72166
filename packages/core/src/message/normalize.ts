import { coerce, type JsonObject, type MessageKind } from "@sluice/protocol";

export interface MessageDefaults {
  /** Merged under each message's own, key by key; not deeper. */
  readonly context?: JsonObject | undefined;
  readonly integrations?: JsonObject | undefined;
}

/** What a message gets that its caller did not give. */
export interface Stamp {
  readonly messageId: string;
  /** The moment of the call, ISO 8601. */
  readonly calledAt: string;
}

const OBJECT_FIELDS = ["properties", "traits", "context", "integrations"] as const;

/**
 * The message that a call means: a copy of what the caller gave, with its kind, an id, and either the caller's
 * `timestamp` or the moment of the call. Reads each field of `input` once; may throw what a getter throws.
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
  if (message.timestamp !== undefined) settleTimestamp(message);
  if (message.timestamp === undefined) message.originalTimestamp = stamp.calledAt;
  // What `toJSON` says is what would travel, so it is what must be checked.
  for (const field of OBJECT_FIELDS) {
    const value = message[field] as { toJSON?: unknown } | null | undefined;
    if (typeof value?.toJSON === "function") message[field] = value.toJSON(field);
  }
  if (message.toJSON !== undefined) delete message.toJSON;
  return coerce(message, defaults);
}

/** A text stays as it was given. A Date, or a number of milliseconds, becomes ISO 8601; what is neither is dropped. */
function settleTimestamp(message: JsonObject): void {
  const { timestamp } = message;
  if (typeof timestamp === "string" && timestamp !== "") return;
  const ms = timestamp instanceof Date ? timestamp.getTime() : timestamp;
  if (typeof ms === "number" && Math.abs(ms) <= 8.64e15) message.timestamp = new Date(ms).toISOString();
  else delete message.timestamp;
}
