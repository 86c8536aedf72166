import type { OutgoingMessage } from "./definition.js";

/** A message as a row of a table: the fields that all kinds of messages have in common, and the others together. */
export interface MessageRow {
  readonly message_id: string;
  readonly source_id: string;
  readonly type: string;
  readonly event?: string;
  readonly name?: string;
  readonly user_id?: string;
  readonly anonymous_id?: string;
  readonly group_id?: string;
  readonly previous_id?: string;
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
  const { version: _v, type, messageId: _id, timestamp: _t, ...others } = payload;
  const { event, name, userId, anonymousId, groupId, ...rest } = others;
  // An alias names its fields as webhooks do.
  const { "Previous ID": previousId, "User ID": newUserId, ...message } = rest;
  return {
    message_id: id,
    source_id: sourceId,
    type,
    ...text("event", event),
    ...text("name", name),
    ...text("user_id", userId ?? newUserId),
    ...text("anonymous_id", anonymousId),
    ...text("group_id", groupId),
    ...text("previous_id", previousId),
    timestamp,
    received_at: new Date(receivedAtMs).toISOString(),
    position,
    message,
  };
}

function text(name: string, value: unknown): { readonly [name: string]: string } {
  return value === undefined || value === null ? {} : { [name]: String(value) };
}
