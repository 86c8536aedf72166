import { type DeletionReceipt, formatTime } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { type DestinationDocument, DOCUMENT_KINDS } from "../store/documents.js";
import type { NewBatch, PurgeQuery, Purging, Store, StoredMessage } from "../store/store.js";
import { digestOf, type Suppressions } from "../store/suppressions.js";
import type { DeletedUser, DeletionDocument, Step } from "./deletion.js";

/** What a deletion asks of audiences. */
export interface ProfileRemoval {
  /**
   * Resolves when every message that was stored before the call is counted, so that a user's other ids are known; after a while in any
   * case.
   */
  counted(): Promise<void>;
  identitiesOf(userId: string): Promise<{
    readonly ids: readonly string[];
    /** Anonymous ids that somebody else has as user id. */
    readonly shared: readonly string[];
  }>;
  forget(
    userIds: readonly string[],
  ): Promise<readonly { readonly profile: boolean; readonly audienceMemberships: number }[]>;
  compact(): Promise<void>;
}

export interface DeletionParts {
  readonly store: Pick<Store, "log" | "config" | "consumers"> & Purging;
  readonly profiles: ProfileRemoval;
  readonly suppressions: Suppressions;
  readonly clock: Clock;
  /** The built-in source: nobody's messages are of it, so it is never affected. */
  readonly builtInSourceIds: readonly string[];
}

/** What a step changes of the deletion; undefined: it cannot be made yet. */
export type StepResult = Partial<Pick<DeletionDocument, "users" | "receipt">> | undefined;

const FOUND_AT_ONCE = 200;

/** Makes one step. Made again after a crash in its middle, it ends the same. */
export function makeStep(
  step: Exclude<Step, "done">,
  id: string,
  deletion: DeletionDocument,
  parts: DeletionParts,
): Promise<StepResult> {
  switch (step) {
    case "suppress":
      return suppress(deletion, parts);
    case "collect":
      return collect(deletion, parts);
    case "purge":
      return purge(deletion, parts);
    case "forget":
      return forget(deletion, parts);
    case "tell":
      return tell(id, deletion, parts);
    case "erase":
      return erase(deletion, parts);
    case "trace":
      return trace(deletion, parts);
    default:
      return step satisfies never;
  }
}

function usersOf({ users }: DeletionDocument): readonly DeletedUser[] {
  return users ?? [];
}

async function suppress(
  deletion: DeletionDocument,
  { profiles, suppressions }: DeletionParts,
): Promise<StepResult> {
  if (!deletion.suppress) return {};
  // What is known holds at once; what audiences have not come to yet is waited for.
  const suppressKnown = async (): Promise<void> => {
    for (const { userId } of usersOf(deletion))
      await suppressions.suppress(userId, (await profiles.identitiesOf(userId)).ids);
  };
  await suppressKnown();
  await profiles.counted();
  await suppressKnown();
  return {};
}

async function collect(
  deletion: DeletionDocument,
  { store, profiles, builtInSourceIds }: DeletionParts,
): Promise<StepResult> {
  await profiles.counted();
  const users: DeletedUser[] = [];
  const found: number[] = [];
  for (const { userId } of usersOf(deletion)) {
    const { ids, shared } = await profiles.identitiesOf(userId);
    const sourceIds = new Set<string>();
    let messages = 0;
    for await (const { sourceId } of messagesOf({ ids, sharedIds: shared }, store)) {
      sourceIds.add(sourceId);
      messages += 1;
    }
    for (const builtIn of builtInSourceIds) sourceIds.delete(builtIn);
    users.push({
      userId,
      ids,
      ...(shared.length === 0 ? {} : { sharedIds: shared }),
      sourceIds: [...sourceIds],
    });
    found.push(messages);
  }
  // Counted before anything goes: a purge that a crash cuts in two would count only its second half.
  const receipt = withUsers(deletion, (user, index) => ({ ...user, messages: found[index] ?? 0 }));
  return { users, receipt };
}

type UsersIds = Pick<DeletedUser, "ids" | "sharedIds">;

/** A user's messages in the log. */
async function* messagesOf(
  { ids, sharedIds = [] }: UsersIds,
  { log }: Pick<DeletionParts["store"], "log">,
): AsyncGenerator<StoredMessage> {
  const shared = new Set(sharedIds);
  for (const userId of [...ids, ...shared]) {
    let cursor: string | undefined;
    do {
      const page = await log.find(
        { userId },
        { limit: FOUND_AT_ONCE, ...(cursor === undefined ? {} : { cursor }) },
      );
      for (const stored of page.items) if (!shared.has(userId) || !stored.message.userId) yield stored;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }
}

/** Takes what the log and the queues have of a user. */
async function purgeUser(
  { ids, sharedIds = [] }: UsersIds,
  { store, suppressions }: DeletionParts,
): Promise<{ attempts: number; retries: number }> {
  suppressions.purged(ids);
  const total = { attempts: 0, retries: 0 };
  const purgeOf = async (query: PurgeQuery): Promise<void> => {
    const { attempts, retries } = await store.purge(query);
    total.attempts += attempts;
    total.retries += retries;
  };
  await purgeOf({ userIds: ids });
  for await (const { sourceId, messageId } of messagesOf({ ids: [], sharedIds }, store))
    await purgeOf({ sourceId, messageId });
  return total;
}

async function purge(deletion: DeletionDocument, parts: DeletionParts): Promise<StepResult> {
  const removed: { attempts: number; retries: number }[] = [];
  for (const user of usersOf(deletion)) removed.push(await purgeUser(user, parts));
  return { receipt: withUsers(deletion, (user, index) => ({ ...user, ...removed[index] })) };
}

async function forget(deletion: DeletionDocument, parts: DeletionParts): Promise<StepResult> {
  const { profiles, clock } = parts;
  const users = usersOf(deletion);
  const forgotten = await profiles.forget(users.map((user) => user.userId));
  // Messages that were on their way into the log, from clients or from audiences, while the first pass went by.
  for (const user of users) await purgeUser(user, parts);
  // And what audiences had read of those before they went.
  await profiles.forget([...new Set(users.flatMap(({ userId, ids }) => [userId, ...ids]))]);
  const receipt = withUsers(deletion, (user, index) => {
    const { profile = false, audienceMemberships = 0 } = forgotten[index] ?? {};
    // Made again after a crash, there is nothing to count any more.
    return user.profile ? user : { ...user, profile, audienceMemberships };
  });
  return { receipt: { ...receipt, purgedAt: formatTime(clock.now()) } };
}

async function tell(
  id: string,
  deletion: DeletionDocument,
  { store, clock }: DeletionParts,
): Promise<StepResult> {
  const webhooks = (await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination)).filter(
    ({ value }) => value.enabled && value.type === "webhooks",
  );
  const told: DeletionReceipt["deleteMessages"][number][] = [];
  for (const [index, { userId, sourceIds }] of usersOf(deletion).entries()) {
    for (const sourceId of sourceIds) {
      const destinationIds = webhooks
        .filter(({ value }) =>
          value.connections.some((one) => one.sourceId === sourceId && one.upTo === undefined),
        )
        .map((destination) => destination.id);
      if (destinationIds.length === 0) continue;
      // One of its own at each source: a receiver that knows messages by id must not take two for one.
      const messageId = `${id}-${index}-${sourceId}`;
      await store.log.append(deleteMessage({ sourceId, messageId, userId, destinationIds }, clock.now()));
      told.push({ sourceId, messageId, destinationIds });
    }
  }
  return { receipt: { ...deletion.receipt, deleteMessages: told } };
}

/** Appended twice, it is the same message to the log, which knows it by source and id. */
function deleteMessage(
  {
    sourceId,
    messageId,
    userId,
    destinationIds,
  }: {
    readonly sourceId: string;
    readonly messageId: string;
    readonly userId: string;
    readonly destinationIds: readonly string[];
  },
  nowMs: number,
): NewBatch {
  const message = { type: "delete", messageId, userId, timestamp: formatTime(nowMs) };
  return {
    sourceId,
    receivedAtMs: nowMs,
    body: Buffer.from(JSON.stringify({ batch: [message] })),
    itemCount: 1,
    skipped: [],
    madeIds: [],
    // Not found under the user: another deletion of the same user must not take it out before it is delivered.
    keys: [{ index: 0, messageId, userId: "", type: "delete" }],
    onlyDestinations: destinationIds,
  };
}

async function erase(
  deletion: DeletionDocument,
  { store, profiles, clock }: DeletionParts,
): Promise<StepResult> {
  await store.compact();
  await profiles.compact();
  return { receipt: { ...deletion.receipt, erasedAt: formatTime(clock.now()) } };
}

/** Undefined while a delete message is still on its way. */
async function trace(deletion: DeletionDocument, { store, clock }: DeletionParts): Promise<StepResult> {
  const existing = new Set(
    (await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination)).map(({ id }) => id),
  );
  for (const { sourceId, messageId, destinationIds } of deletion.receipt.deleteMessages) {
    const [message] = (await store.log.find({ sourceId, messageId }, { limit: 1 })).items;
    if (message === undefined) continue;
    const outcomes = await store.consumers.outcomesOf(message.offset);
    const isSettled = (destinationId: string): boolean =>
      !existing.has(destinationId) ||
      outcomes.some((outcome) => outcome.consumerId === destinationId && outcome.state !== "pending");
    if (!destinationIds.every(isSettled)) return undefined;
  }
  for (const { sourceId, messageId } of deletion.receipt.deleteMessages)
    await store.purge({ sourceId, messageId });
  await store.compact();
  return { receipt: { ...deletion.receipt, tracesErasedAt: formatTime(clock.now()) } };
}

type UserReceipt = DeletionReceipt["users"][number];

function withUsers(
  { receipt }: DeletionDocument,
  change: (user: UserReceipt, index: number) => UserReceipt,
): DeletionReceipt {
  return { ...receipt, users: receipt.users.map(change) };
}

/** The receipt of a deletion of which nothing has been done. */
export function emptyReceipt(userIds: readonly string[]): DeletionReceipt {
  return {
    users: userIds.map((userId) => ({
      userIdSha256: digestOf(userId),
      messages: 0,
      attempts: 0,
      retries: 0,
      profile: false,
      audienceMemberships: 0,
    })),
    deleteMessages: [],
  };
}
