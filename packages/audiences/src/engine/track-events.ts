import type { StoredBatch } from "@sluice/event-log";
import { resolveTime, type UncheckedMessage } from "@sluice/protocol";
import type { Occurrence } from "../conditions/occurrence.js";
import { AUDIENCE_SOURCE_ID } from "../profiles/owed-message.js";
import { type LogMessage, readMessages } from "./read-messages.js";

export interface TrackEvent {
  readonly message: UncheckedMessage;
  readonly event: string;
  readonly occurrence: Occurrence;
}

/** The track messages of a batch whose event is one of these. The collector's own messages are none. */
export function eventsOf(batch: StoredBatch, events: ReadonlySet<string>): TrackEvent[] {
  if (batch.sourceId === AUDIENCE_SOURCE_ID) return [];
  const isNeeded = (type: unknown, event: unknown): boolean =>
    type === "track" && events.has(event as string);
  return readMessages(batch, isNeeded).flatMap((stored) => {
    const { message } = stored;
    if (message.type !== "track" || typeof message.event !== "string" || !events.has(message.event))
      return [];
    return [{ message, event: message.event, occurrence: occurrenceOf(stored) }];
  });
}

export function occurrenceOf(stored: LogMessage): Occurrence {
  return { atMs: timeOf(stored), offset: stored.offset, properties: stored.message.properties };
}

/** When it happened. Nothing happens after it was heard of: a clock that is ahead does not keep anybody in a window for longer. */
export function timeOf({ message, receivedAtMs }: LogMessage): number {
  return Math.min(resolveTime(message, receivedAtMs), receivedAtMs);
}
