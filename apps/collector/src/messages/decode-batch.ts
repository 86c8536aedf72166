import { coerce, isPlainObject, type UncheckedMessage } from "@sluice/protocol";
import { type BatchContent, offsetAt, type StoredBatch, type StoredMessage } from "../store/store.js";
import { parseJson } from "./parse-json.js";

const decoder = new TextDecoder();

/** A request's items as they are after coercion; an item that is no object is kept as it is. */
export function decodeItems(content: Pick<BatchContent, "body" | "kind" | "ip">): unknown[] {
  const parsed = parseJson(decoder.decode(content.body));
  const envelope =
    isPlainObject(parsed) && Array.isArray(parsed.batch) && content.kind === undefined ? parsed : undefined;
  const items: unknown[] = envelope === undefined ? [parsed] : (envelope.batch as unknown[]);
  const around = {
    ...(content.kind === undefined ? {} : { kind: content.kind }),
    ...(envelope === undefined
      ? {}
      : { context: envelope.context, integrations: envelope.integrations, sentAt: envelope.sentAt }),
  };
  for (const item of items) {
    if (!isPlainObject(item)) continue;
    coerce(item, around);
    if (content.ip !== undefined) fillIp(item, content.ip);
  }
  return items;
}

/** The messages of a stored batch, in order, without those that were skipped. */
export function decodeBatch(batch: StoredBatch): StoredMessage[] {
  const items = decodeItems(batch);
  const madeIds = new Map(batch.madeIds);
  const skipped = new Set(batch.skipped);
  const messages: StoredMessage[] = [];
  items.forEach((item, index) => {
    if (skipped.has(index)) return;
    const message = item as UncheckedMessage;
    const made = madeIds.get(index);
    if (made !== undefined) message.messageId = made;
    messages.push({
      offset: offsetAt(batch.first, index),
      sourceId: batch.sourceId,
      receivedAtMs: batch.receivedAtMs,
      messageId: message.messageId as string,
      message,
      ...(batch.onlyDestinations === undefined ? {} : { onlyDestinations: batch.onlyDestinations }),
    });
  });
  return messages;
}

function fillIp(message: UncheckedMessage, ip: string): void {
  const context = message.context;
  if (context === undefined) message.context = { ip };
  else if (isPlainObject(context) && (context.ip === undefined || context.ip === null)) context.ip = ip;
}
