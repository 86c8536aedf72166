import type { LiveEventView } from "@sluice/control-api";
import type { Rejection, StoredMessage } from "@sluice/event-log";
import { type FilterSubject, formatTime, isPlainObject } from "@sluice/protocol";
import { rejectedView } from "../messages/message-view.js";
import type { OutcomeEvent } from "./missed-outcomes.js";

/** The data of the live stream's events. */
function json(event: LiveEventView): string {
  return JSON.stringify(event);
}

export function messageJson(stored: StoredMessage): string {
  return json({
    kind: "message",
    messageId: stored.messageId,
    sourceId: stored.sourceId,
    receivedAt: formatTime(stored.receivedAtMs),
    message: stored.message,
  });
}

export function outcomeJson(event: OutcomeEvent): string {
  return json({
    kind: "outcome",
    messageId: event.messageId,
    destinationId: event.destinationId,
    state: event.state,
    reason: event.reason,
    at: formatTime(event.atMs),
    ...(event.nextAttemptAtMs === undefined ? {} : { nextAttemptAt: formatTime(event.nextAttemptAtMs) }),
  });
}

export function rejectedJson(rejection: Rejection): string {
  const { state: _state, ...view } = rejectedView(rejection);
  return json({ kind: "rejected", ...view });
}

export function droppedJson(dropped: {
  readonly messages: number;
  readonly outcomes: number;
  readonly isMinimum?: boolean;
}): string {
  const { messages, outcomes, isMinimum = false } = dropped;
  return json({ kind: "dropped", messages, outcomes, ...(isMinimum ? { isMinimum } : {}) });
}

/** A refused message is asked as far as its excerpt can be read. */
export function rejectedSubject(rejection: Rejection): FilterSubject {
  return {
    messageId: rejection.messageId ?? "",
    sourceId: rejection.sourceId,
    message: {
      ...readExcerpt(rejection.excerpt),
      ...(rejection.type === undefined ? {} : { type: rejection.type }),
    },
    outcomes: [{ destinationId: "", state: "rejected" }],
  };
}

function readExcerpt(excerpt: string): { readonly [field: string]: unknown } {
  try {
    const value: unknown = JSON.parse(excerpt);
    if (isPlainObject(value)) return value;
  } catch {
    // Cut at 4 KB, or no JSON at all.
  }
  return {};
}
