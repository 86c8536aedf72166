import type { StoredBatch } from "@sluice/event-log";
import { isBuiltInSource, resolveTime, type UncheckedMessage } from "@sluice/protocol";
import type { Occurrence } from "../../conditions/occurrence.js";
import { type LogMessage, readMessages } from "./read-messages.js";

export interface TrackEvent {
  readonly message: UncheckedMessage;
  readonly event: string;
  readonly occurrence: Occurrence;
}

/** The track messages of a batch with one of these events, without those that the collector made. */
export function eventsOf(batch: StoredBatch, events: ReadonlySet<string>): TrackEvent[] {
  if (isBuiltInSource(batch.sourceId)) return [];
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

/** The message's time, but not after its receipt: a client's clock that is ahead must not keep a user in a window for longer. */
export function timeOf({ message, receivedAtMs }: LogMessage): number {
  return Math.min(resolveTime(message, receivedAtMs), receivedAtMs);
}
