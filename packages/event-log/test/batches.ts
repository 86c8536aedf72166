import type { MessageKey, NewBatch } from "../src/message/batch.js";

export interface TestMessage {
  readonly messageId: string;
  readonly userId?: string;
  readonly anonymousId?: string;
  readonly type?: string;
  readonly event?: string;
  readonly [field: string]: unknown;
}

export interface BatchOptions {
  readonly sourceId?: string;
  readonly receivedAtMs?: number;
  /** Indexes of refused items. */
  readonly skipped?: readonly number[];
}

export const RECEIVED_AT_MS = Date.UTC(2026, 10, 21, 9, 30);

/** A batch as ingestion creates it. Items are track messages of one user by default. */
export function batchOf(messages: readonly TestMessage[], options: BatchOptions = {}): NewBatch {
  const { sourceId = "src_1", receivedAtMs = RECEIVED_AT_MS, skipped = [] } = options;
  const items = messages.map((message) => ({ type: "track", event: "Ordered", userId: "u1", ...message }));
  const keys: MessageKey[] = [];
  items.forEach((item, index) => {
    if (skipped.includes(index)) return;
    keys.push({
      index,
      messageId: item.messageId,
      userId: item.userId || (item.anonymousId ?? ""),
      type: item.type,
      ...(item.type === "track" ? { event: item.event } : {}),
    });
  });
  return {
    sourceId,
    receivedAtMs,
    body: new TextEncoder().encode(JSON.stringify({ batch: items })),
    itemCount: items.length,
    skipped,
    madeIds: [],
    keys,
  };
}

/** A batch of messages with these ids. */
export function idsBatch(messageIds: readonly string[], options: BatchOptions = {}): NewBatch {
  return batchOf(
    messageIds.map((messageId) => ({ messageId })),
    options,
  );
}
