import type { MessageKey } from "@sluice/event-log";
import { anonymousIdentity, isWithoutDelivery, userIdentity } from "@sluice/event-log";
import { isPlainObject } from "@sluice/protocol";
import type { Suppressions } from "../../documents/suppressions.js";
import type { OpenedRequest } from "./open-request.js";

/** Indexes of the messages whose users are suppressed. */
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

/** The fields kept of a suppressed user's message: enough to show that it arrived and was not delivered. */
const KEPT = ["type", "messageId", "userId", "anonymousId"] as const;

/** The body with only the kept fields of these messages. It is serialized again, which is rare; the envelope is merged into each message already. */
export function withoutContents(opened: OpenedRequest, places: ReadonlySet<number>): Uint8Array {
  const { items, isBatch } = opened;
  const kept = items.map((item, index) => {
    if (!places.has(index) || !isPlainObject(item)) return item;
    return Object.fromEntries(KEPT.flatMap((field) => (field in item ? [[field, item[field]]] : [])));
  });
  const mark = isWithoutDelivery(opened) ? { deliver: false } : {};
  return Buffer.from(JSON.stringify(isBatch ? { ...mark, batch: kept } : kept[0]));
}

/** The keys for that body: messages without contents cannot be found by their event. */
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
