import type { DroppedView, LiveEventView } from "@sluice/control-api";
import type { Rejection, StoredMessage } from "@sluice/event-log";
import { type FilterSubject, formatTime, isPlainObject } from "@sluice/protocol";
import type { PlanOf } from "../../documents/source-plan.js";
import { receivedView, rejectedView } from "../messages/message-view.js";
import { violationsField } from "../messages/plan-violations.js";
import type { OutcomeEvent } from "./missed-outcomes.js";

function json(event: LiveEventView): string {
  return JSON.stringify(event);
}

export function messageJson(stored: StoredMessage, planOf?: PlanOf): string {
  return json({ kind: "message", ...receivedView(stored), ...violationsField(stored, planOf) });
}

export function outcomeJson({ offset: _, atMs, nextAttemptAtMs, ...event }: OutcomeEvent): string {
  return json({
    ...event,
    at: formatTime(atMs),
    ...(nextAttemptAtMs === undefined ? {} : { nextAttemptAt: formatTime(nextAttemptAtMs) }),
  });
}

export function rejectedJson(rejection: Rejection): string {
  const { state: _, ...view } = rejectedView(rejection);
  return json({ kind: "rejected", ...view });
}

export function droppedJson({ isMinimum, ...counts }: Omit<DroppedView, "kind">): string {
  return json({ kind: "dropped", ...counts, ...(isMinimum ? { isMinimum } : {}) });
}

/** A refused message as filters see it, as far as its excerpt can be parsed. */
export function rejectedSubject(rejection: Rejection): FilterSubject {
  return {
    messageId: rejection.messageId ?? "",
    sourceId: rejection.sourceId,
    message: {
      ...parseExcerpt(rejection.excerpt),
      ...(rejection.type === undefined ? {} : { type: rejection.type }),
    },
    outcomes: [{ destinationId: "", state: "rejected" }],
  };
}

function parseExcerpt(excerpt: string): { readonly [field: string]: unknown } {
  try {
    const value: unknown = JSON.parse(excerpt);
    if (isPlainObject(value)) return value;
  } catch {
    // The excerpt is cut at 4 KB, or is not JSON at all.
  }
  return {};
}
