import { coerce, isPlainObject, type MessageKind, type UncheckedMessage } from "@sluice/protocol";
import { decodeUtf8, parseJson } from "../bytes/parse-json.js";
import type { BatchContent, StoredBatch, StoredMessage } from "./batch.js";
import { offsetAt } from "./batch.js";
import { fillIp } from "./fill-ip.js";

/** A request's JSON, split into messages and envelope. */
export interface DecodedRequest {
  /** The messages. An item that is not an object is kept as it is. */
  readonly items: unknown[];
  /** The envelope, or the single message itself. Undefined if the body is not an object. */
  readonly root: { readonly [key: string]: unknown } | undefined;
  readonly isBatch: boolean;
}

/** Finds the messages in a request's parsed JSON. */
export function requestOf(parsed: unknown, kind: MessageKind | undefined): DecodedRequest {
  const root = isPlainObject(parsed) ? parsed : undefined;
  const batch = kind === undefined && Array.isArray(root?.batch) ? root.batch : undefined;
  return { items: batch ?? [parsed], root, isBatch: batch !== undefined };
}

/**
 * Brings a request's messages into their normal form. Ingestion does this before it validates them, and decoding does it again for stored
 * bytes, so that delivery sends what was validated.
 */
export function coerceMessages(
  { items, root, isBatch }: DecodedRequest,
  { kind, ip }: Pick<BatchContent, "kind" | "ip">,
): void {
  const around = {
    ...(kind === undefined ? {} : { kind }),
    ...(isBatch ? { context: root?.context, integrations: root?.integrations, sentAt: root?.sentAt } : {}),
  };
  for (const item of items) {
    if (!isPlainObject(item)) continue;
    coerce(item, around);
    if (ip !== undefined) fillIp(item, ip);
  }
}

/** Whether a batch's envelope says that its messages are only stored. */
export function isWithoutDelivery({ root, isBatch }: Pick<DecodedRequest, "root" | "isBatch">): boolean {
  return isBatch && root?.deliver === false;
}

function decodeRequest(content: Pick<BatchContent, "body" | "kind" | "ip">): DecodedRequest {
  const text = decodeUtf8(content.body);
  if (text === undefined) throw new SyntaxError("The body is not valid UTF-8");
  const request = requestOf(parseJson(text), content.kind);
  coerceMessages(request, content);
  return request;
}

/** The messages of a stored batch, in order, without those that were skipped. */
export function decodeBatch(batch: StoredBatch): StoredMessage[] {
  const request = decodeRequest(batch);
  const mark = isWithoutDelivery(request) ? ({ isWithoutDelivery: true } as const) : {};
  const madeIds = new Map(batch.madeIds);
  const skipped = new Set(batch.skipped);
  const messages: StoredMessage[] = [];
  request.items.forEach((item, index) => {
    // An item that is not an object was purged: see `overwrite-messages.ts`.
    if (skipped.has(index) || !isPlainObject(item)) return;
    const message: UncheckedMessage = item;
    const made = madeIds.get(index);
    if (made !== undefined) message.messageId = made;
    // The write key is a secret of the source, and nothing downstream needs it.
    if (message.writeKey !== undefined) delete message.writeKey;
    messages.push({
      offset: offsetAt(batch.first, index),
      sourceId: batch.sourceId,
      receivedAtMs: batch.receivedAtMs,
      messageId: message.messageId as string,
      message,
      ...(batch.onlyDestinations === undefined ? {} : { onlyDestinations: batch.onlyDestinations }),
      ...mark,
    });
  });
  return messages;
}
