import type { OutgoingMessage } from "./definition.js";

/** A message as a row of a table: the fields that all kinds of messages have in common, and the others together. */
export interface MessageRow {
  readonly message_id: string;
  readonly source_id: string;
  readonly type: string;
  readonly event?: string | undefined;
  readonly name?: string | undefined;
  readonly user_id?: string | undefined;
  readonly anonymous_id?: string | undefined;
  readonly group_id?: string | undefined;
  readonly previous_id?: string | undefined;
  /** ISO 8601. */
  readonly timestamp: string;
  /** ISO 8601. */
  readonly received_at: string;
  readonly position: number;
  /** The other fields, such as `properties`, `traits` and `context`. */
  readonly message: { readonly [field: string]: unknown };
}

/** The row of a message, the same for every table and file. */
export function rowOf({
  id,
  sourceId,
  timestamp,
  receivedAtMs,
  position,
  payload,
}: OutgoingMessage): MessageRow {
  const {
    version: _version,
    messageId: _messageId,
    timestamp: _timestamp,
    type,
    event,
    name,
    userId,
    anonymousId,
    groupId,
    // An alias names its fields as webhooks do.
    "Previous ID": previousId,
    "User ID": newUserId,
    ...message
  } = payload;
  return {
    message_id: id,
    source_id: sourceId,
    type,
    event: text(event),
    name: text(name),
    user_id: idText(userId) ?? idText(newUserId),
    anonymous_id: idText(anonymousId),
    group_id: idText(groupId),
    previous_id: idText(previousId),
    timestamp,
    received_at: isoTime(receivedAtMs),
    position,
    message,
  };
}

function text(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : String(value);
}

/** Clients send an empty id where there is none. As a value, it would be a user that visitors share, and hide them from a deletion. */
function idText(value: unknown): string | undefined {
  return text(value) || undefined;
}

let last = { ms: Number.NaN, iso: "" };

/** The messages of a request have the same time, and writing it takes as long as the rest of a row. */
function isoTime(ms: number): string {
  if (ms !== last.ms) last = { ms, iso: new Date(ms).toISOString() };
  return last.iso;
}
