import type { MessageKey, NewBatch, PendingMessage } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import { type Profile, userFields } from "./profile.js";

/** The built-in source that audience and computed trait messages belong to. */
export const AUDIENCE_SOURCE_ID = "src_audiences";

/** What destinations are told of one user. */
export type ProfileUpdate =
  | { readonly kind: "traits"; readonly key: string; readonly value: unknown }
  | { readonly kind: "entered" | "exited"; readonly key: string; readonly audienceId: string };

/**
 * The message that tells it. Its id is made of the number under which it is owed, committed before it is sent: sent again after
 * a crash, it is the same message to the log.
 */
export function outboxMessage(
  told: ProfileUpdate,
  profile: Profile,
  destinationIds: readonly string[],
  { seq, nonce, nowMs }: { readonly seq: number; readonly nonce: string; readonly nowMs: number },
): PendingMessage {
  const messageId = `aud-${nonce}-${seq}`;
  const user = userFields(profile);
  const timestamp = formatTime(nowMs);
  const message =
    told.kind === "traits"
      ? { type: "identify", messageId, ...user, traits: { [told.key]: told.value }, timestamp }
      : {
          type: "track",
          messageId,
          ...user,
          event: told.kind === "entered" ? "Audience Entered" : "Audience Exited",
          properties: {
            audience_key: told.key,
            audience_id: told.audienceId,
            [told.key]: told.kind === "entered",
          },
          timestamp,
        };
  return { seq, profile: profile.number, destinationIds, message: JSON.stringify(message) };
}

/** Messages of one append, at most, and their bytes. */
const MOST_MESSAGES = 500;
const MOST_BYTES = 400_000;

/**
 * The batches by which owed messages come into the log: in their order, cut where a message is for other destinations.
 * Messages of several audiences alternate, so within a run they are brought together by destinations; the order
 * of one audience's messages stays.
 */
export function outboxBatches(owed: readonly PendingMessage[], nowMs: number): NewBatch[] {
  const byDestinations = new Map<string, PendingMessage[]>();
  for (const message of owed) {
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

function asBatch(owed: readonly PendingMessage[], nowMs: number): NewBatch {
  const keys = owed.map(({ message }, index): MessageKey => {
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
    body: Buffer.from(`{"batch":[${owed.map((one) => one.message).join(",")}]}`),
    itemCount: owed.length,
    skipped: [],
    madeIds: [],
    keys,
    onlyDestinations: owed[0]?.destinationIds ?? [],
  };
}
