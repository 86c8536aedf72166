import type { MessageKey, NewBatch, PendingMessage } from "@sluice/event-log";
import { AUDIENCE_SOURCE_ID, formatTime } from "@sluice/protocol";
import { type Profile, userFields } from "./profile.js";

/** A change of one user that is published to destinations. */
export type ProfileUpdate =
  | { readonly kind: "traits"; readonly key: string; readonly value: unknown }
  | { readonly kind: "entered" | "exited"; readonly key: string; readonly audienceId: string };

/**
 * The message that publishes a change. Its id contains its number in the outbox, which is committed before the message is sent: sent again
 * after a crash, it is the same message to the log.
 */
export function outboxMessage(
  update: ProfileUpdate,
  profile: Profile,
  destinationIds: readonly string[],
  { seq, nonce, nowMs }: { readonly seq: number; readonly nonce: string; readonly nowMs: number },
): PendingMessage {
  const messageId = `aud-${nonce}-${seq}`;
  const user = userFields(profile);
  const timestamp = formatTime(nowMs);
  const message =
    update.kind === "traits"
      ? { type: "identify", messageId, ...user, traits: { [update.key]: update.value }, timestamp }
      : {
          type: "track",
          messageId,
          ...user,
          event: update.kind === "entered" ? "Audience Entered" : "Audience Exited",
          properties: {
            audience_key: update.key,
            audience_id: update.audienceId,
            [update.key]: update.kind === "entered",
          },
          timestamp,
        };
  return { seq, profile: profile.number, destinationIds, message: JSON.stringify(message) };
}

/** The limits of one append: messages, and their bytes. */
const MOST_MESSAGES = 500;
const MOST_BYTES = 400_000;

/**
 * The batches by which pending messages are appended to the log. A batch has one list of destinations, so messages are grouped by their
 * destinations: the order changes between audiences, but not within one.
 */
export function outboxBatches(pending: readonly PendingMessage[], nowMs: number): NewBatch[] {
  const byDestinations = new Map<string, PendingMessage[]>();
  for (const message of pending) {
    const key = JSON.stringify(message.destinationIds);
    const group = byDestinations.get(key);
    if (group === undefined) byDestinations.set(key, [message]);
    else group.push(message);
  }
  const batches: NewBatch[] = [];
  for (const group of byDestinations.values()) {
    for (let from = 0; from < group.length; ) {
      let to = from;
      for (let bytes = 0; to < group.length && to - from < MOST_MESSAGES && bytes < MOST_BYTES; to++)
        bytes += group[to]?.message.length ?? 0;
      batches.push(asBatch(group.slice(from, to), nowMs));
      from = to;
    }
  }
  return batches;
}

function asBatch(pending: readonly PendingMessage[], nowMs: number): NewBatch {
  const keys = pending.map(({ message }, index): MessageKey => {
    const { messageId, userId, anonymousId, type, event } = JSON.parse(message) as {
      readonly [field: string]: string | undefined;
    };
    return {
      index,
      messageId: messageId ?? "",
      userId: userId ?? anonymousId ?? "",
      type: type ?? "",
      ...(event === undefined ? {} : { event }),
    };
  });
  return {
    sourceId: AUDIENCE_SOURCE_ID,
    receivedAtMs: nowMs,
    body: Buffer.from(`{"batch":[${pending.map((one) => one.message).join(",")}]}`),
    itemCount: pending.length,
    skipped: [],
    madeIds: [],
    keys,
    onlyDestinations: pending[0]?.destinationIds ?? [],
  };
}
