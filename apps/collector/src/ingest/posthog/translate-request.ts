import { findTexts } from "@sluice/event-log";
import { isPlainObject } from "@sluice/protocol";
import { openBatch } from "../messages/open-request.js";
import { messageOf } from "./posthog-message.js";

const API_KEY: ReadonlySet<string> = new Set(["api_key"]);

/** The project key of PostHog's request, found without parsing. */
export function apiKeyOf(body: Uint8Array): string | undefined {
  return findTexts(body, API_KEY).api_key;
}

/** A batch without messages, for a request that is refused because of its key. */
export function emptyBatch(writeKey: string | undefined): Uint8Array {
  return Buffer.from(JSON.stringify({ writeKey, batch: [] }));
}

/**
 * Writes PostHog's request, a batch or a single event, as a batch of messages. Yields after every few milliseconds of work. Events that
 * cannot be a message, or are too large, stay as they are, to be rejected one by one.
 */
export function* translateRequest(body: Uint8Array, writeKey: string): Generator<void, Uint8Array> {
  const { items, root, isBatch, deepItems, largeItems, bytesOf } = yield* openBatch(body);
  const { sent_at: sentAt } = root ?? {};
  const texts = items.map((item, index) => {
    const isUnparsed = deepItems.has(index) || largeItems.has(index);
    if (isUnparsed || !isPlainObject(item)) return Buffer.from(bytesOf(index)).toString();
    const { api_key: _, ...event } = item;
    return JSON.stringify(messageOf(isBatch ? item : event));
  });
  const envelope = JSON.stringify({ writeKey, sentAt });
  return Buffer.from(`${envelope.slice(0, -1)},"batch":[${texts.join()}]}`);
}
