import type { MessageKey } from "@sluice/event-log";
import { anonymousIdentity, userIdentity } from "@sluice/event-log";
import { isPlainObject } from "@sluice/protocol";
import type { Suppressions } from "../documents/suppressions.js";
import type { OpenedRequest } from "./open-request.js";

/** Places of messages whose users are suppressed. */
export function suppressedItems(
  keys: readonly MessageKey[],
  suppressions: Pick<Suppressions, "isSuppressed"> | undefined,
): ReadonlySet<number> {
  const places = new Set<number>();
  if (suppressions === undefined) return places;
  for (const { index, userId, isAnonymous } of keys)
    if (suppressions.isSuppressed(isAnonymous ? anonymousIdentity(userId) : userIdentity(userId)))
      places.add(index);
  return places;
}

/** What is kept of a message of a suppressed user: enough to show that it came and went nowhere. */
const KEPT = ["type", "messageId", "userId", "anonymousId"] as const;

/**
 * A request's body in which these messages have lost their contents. Rare, and written anew: what stood around the
 * messages has been merged into each of them.
 */
export function withoutContents({ items, isBatch }: OpenedRequest, places: ReadonlySet<number>): Uint8Array {
  const kept = items.map((item, index) => {
    if (!places.has(index) || !isPlainObject(item)) return item;
    return Object.fromEntries(KEPT.flatMap((field) => (field in item ? [[field, item[field]]] : [])));
  });
  return Buffer.from(JSON.stringify(isBatch ? { batch: kept } : kept[0]));
}

/** Their keys: messages without contents have no event to be found by. */
export function keysWithoutContents(
  keys: readonly MessageKey[],
  places: ReadonlySet<number>,
): readonly MessageKey[] {
  return keys.map((key) => {
    if (!places.has(key.index)) return key;
    const { event: _, ...kept } = key;
    return kept;
  });
}
