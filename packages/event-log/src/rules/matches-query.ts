import type { UncheckedMessage } from "@sluice/protocol";
import type { StoredMessage } from "../message/batch.js";
import { identityOf } from "../message/identity.js";
import type { MessageQuery } from "../ports/event-log.js";

/** Whether a message matches the query, except for `outcome`. Every store checks this last, whatever its indexes say. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a flat list, one line for each field of a query
export function matchesQuery(stored: StoredMessage, query: MessageQuery): boolean {
  const { message } = stored;
  if (query.messageId !== undefined && stored.messageId !== query.messageId) return false;
  if (query.sourceId !== undefined && stored.sourceId !== query.sourceId) return false;
  if (query.fromMs !== undefined && stored.receivedAtMs < query.fromMs) return false;
  if (query.toMs !== undefined && stored.receivedAtMs >= query.toMs) return false;
  if (query.type !== undefined && message.type !== query.type) return false;
  if (query.event !== undefined && (message.type !== "track" || message.event !== query.event)) return false;
  if (query.userId !== undefined && userOf(message) !== query.userId) return false;
  if (query.identity !== undefined && identityOf(message) !== query.identity) return false;
  if (query.text !== undefined) {
    return JSON.stringify(message).toLowerCase().includes(query.text.toLowerCase());
  }
  return true;
}

/** The message's `userId`, or its `anonymousId` if it has no `userId`. */
export function userOf(message: UncheckedMessage): string | undefined {
  for (const id of [message.userId, message.anonymousId]) {
    if (typeof id === "string" && id !== "") return id;
  }
  return undefined;
}
