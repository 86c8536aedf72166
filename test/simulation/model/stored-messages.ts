import type { NewBatch, Offset, StoredBatch, StoredMessage } from "@sluice/event-log";

type Fields = Record<string, unknown>;
type Batch = Omit<StoredBatch, "first"> | Omit<NewBatch, "keys">;

/** The messages of a stored request, read by what the reference of the HTTP API says about requests. It asks nothing of the product. */
export function messagesIn(batch: Batch, first: number): StoredMessage[] {
  const root = JSON.parse(Buffer.from(batch.body).toString("utf8")) as Fields | null;
  const isBatch = batch.kind === undefined && Array.isArray(root?.batch);
  const items = (isBatch ? root?.batch : [root]) as readonly unknown[];
  const made = new Map(batch.madeIds);
  const skipped = new Set(batch.skipped);
  return items.flatMap((item, index) => {
    // What was deleted is null, or too short for that.
    if (skipped.has(index) || typeof item !== "object" || item === null) return [];
    const { writeKey: _, ...own } = item as Fields;
    const message = {
      ...(isBatch && root?.sentAt !== undefined ? { sentAt: root.sentAt } : {}),
      ...own,
      ...(batch.kind === undefined ? {} : { type: batch.kind }),
    } as Fields;
    const messageId = made.get(index) ?? String(message.messageId);
    return {
      offset: (first + index) as Offset,
      sourceId: batch.sourceId,
      receivedAtMs: batch.receivedAtMs,
      messageId,
      message: { ...message, messageId },
      ...(batch.onlyDestinations === undefined ? {} : { onlyDestinations: batch.onlyDestinations }),
    };
  });
}

/** The offset of the last message of a request that was not left out. */
export function endOf({ itemCount, skipped }: Batch, first: number): Offset {
  const left = new Set(skipped);
  let last = itemCount - 1;
  while (left.has(last)) last -= 1;
  return (first + last) as Offset;
}
