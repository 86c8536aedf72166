import { decodeBatch, offsetAt, parseJson, type StoredBatch, type StoredMessage } from "@sluice/event-log";
import { coerce, isPlainObject } from "@sluice/protocol";
import { skimBatch } from "./scan-batch.js";

/** A message of the log as far as profiles are made of it. */
export type LogMessage = Pick<StoredMessage, "message" | "offset" | "receivedAtMs">;

/** Whether more is needed of a message than whose it is and when it was made. */
export type IsNeeded = (type: unknown, event: unknown) => boolean;

/**
 * The messages of a batch, in order. Those of which no more is needed come without the rest: it is not parsed, which is most of what
 * reading a message costs.
 */
export function readMessages(batch: StoredBatch, isNeeded: IsNeeded): LogMessage[] {
  const skimmed = batch.kind === undefined ? skimBatch(batch.body) : undefined;
  if (skimmed === undefined) return decodeBatch(batch);
  const skipped = new Set(batch.skipped);
  const { receivedAtMs, body } = batch;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const messages: LogMessage[] = [];
  skimmed.items.forEach(({ fields, start, end }, index) => {
    if (skipped.has(index)) return;
    const offset = offsetAt(batch.first, index);
    if (fields !== undefined && !isNeeded(fields.type, fields.event)) {
      if (fields.sentAt === undefined && skimmed.sentAt !== undefined) fields.sentAt = skimmed.sentAt;
      messages.push({ message: fields, offset, receivedAtMs });
      return;
    }
    const item = parseJson(bytes.toString("utf8", start, end));
    // What is no object was purged: see `overwrite-messages.ts`.
    if (!isPlainObject(item)) return;
    messages.push({ message: coerce(item, { sentAt: skimmed.sentAt }), offset, receivedAtMs });
  });
  return messages;
}
