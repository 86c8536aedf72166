import type { SetAsideView } from "@sluice/control-api";
import { lastMessageIndex, offsetAt, type StoredBatch } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { Span } from "./crash-marker.js";

/** Messages that are not counted because the engine failed over them repeatedly: one message, or a request that could not be read. */
export interface SetAside extends Span {
  readonly kind: "message" | "request";
  readonly sourceId: string;
  readonly receivedAtMs: number;
  /** Only of a message. */
  readonly messageId?: string;
}

/** How many are remembered: the latest ones. */
export const MOST_SET_ASIDE = 1_000;

export function setAsideView({ from, to, sourceId, receivedAtMs, messageId }: SetAside): SetAsideView {
  return {
    sourceId,
    receivedAt: formatTime(receivedAtMs),
    messages: to - from + 1,
    ...(messageId === undefined ? {} : { messageId }),
  };
}

export function isSetAside(all: readonly SetAside[], offset: number): boolean {
  return all.some(({ from, to }) => offset >= from && offset <= to);
}

/** The batches without requests that could not be read. */
export function readable(batches: readonly StoredBatch[], all: readonly SetAside[]): readonly StoredBatch[] {
  const unread = all.filter(({ kind }) => kind === "request");
  if (unread.length === 0) return batches;
  return batches.filter((batch) => !isSetAside(unread, offsetAt(batch.first, lastMessageIndex(batch))));
}
