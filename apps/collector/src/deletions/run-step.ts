import type { DeletionReceipt } from "@sluice/control-api";
import type { IdDigest, NewBatch, Purging, Store } from "@sluice/event-log";
import { DOCUMENT_KINDS, type Identity, idOf, isUserIdentity } from "@sluice/event-log";
import { formatTime, isBuiltInSource } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { Catalog } from "../destinations/catalog.js";
import type { DestinationDocument } from "../documents/documents.js";
import type { Suppressions } from "../documents/suppressions.js";
import { concernedBy, devicesOf, idsOfUser, messagesOf, type ProfileRemoval } from "./concerned.js";
import { deliveriesIn, deliveryNow, withDeliveries } from "./delete-messages.js";
import type { DeletedUser, DeletionDocument, Step } from "./deletion.js";

export interface DeletionParts {
  readonly store: Pick<Store, "log" | "config" | "consumers"> & Purging;
  readonly profiles: ProfileRemoval;
  readonly suppressions: Suppressions;
  /** Resolves when copies in memory of messages of these ids are not delivered any more. */
  readonly onPurged: (identities: readonly Identity[]) => Promise<void>;
  readonly digest: IdDigest;
  /** Used to find the destination types that accept `delete` messages. */
  readonly catalog: Pick<Catalog, "get">;
  readonly clock: Clock;
  /** Called when waiting retries were removed: those who count them read their number again. Default: nothing. */
  readonly onRetriesRemoved?: () => void;
  /** Stops a step between two commits. Default: never. */
  readonly signal?: AbortSignal;
}

export type StepResult =
  /** The step is done, with the fields that it changed. */
  | ({ readonly kind: "done" } & Partial<Pick<DeletionDocument, "users" | "receipt">>)
  /** It cannot complete yet. `receipt` is the state so far. */
  | {
      readonly kind: "waiting";
      readonly receipt: DeletionReceipt;
      readonly status: "running" | "undelivered";
    }
  /** It goes on once `receipt` is stored. */
  | { readonly kind: "again"; readonly receipt: DeletionReceipt };

/** Runs one step. Idempotent, so a step that a crash interrupted is repeated with the same result. */
export function runStep(
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

async function suppress(
  deletion: DeletionDocument,
  { profiles, suppressions, signal }: DeletionParts,
): Promise<StepResult> {
  const { includeAliases = false } = deletion;
  if (!deletion.suppress) return { kind: "done" };
  // Suppress the known ids at once, and repeat it when audiences have caught up and know all ids.
  const suppressKnown = async (): Promise<void> => {
    for (const user of deletion.users ?? []) {
      signal?.throwIfAborted();
      const { identities } = await idsOfUser(user, includeAliases, profiles);
      await suppressions.suppress(user.identity, identities);
    }
  };
  await suppressKnown();
  await profiles.counted();
  await suppressKnown();
  return { kind: "done" };
}

async function collect(
  deletion: DeletionDocument,
  { store, profiles, signal }: DeletionParts,
): Promise<StepResult> {
  await profiles.counted();
  const { includeAliases = false } = deletion;
  const users: DeletedUser[] = [];
  const found: Pick<UserReceipt, "messages" | "anonymousIds" | "aliases" | "aliasesLeft">[] = [];
  for (const user of deletion.users ?? []) {
    const { identity } = user;
    const { identities, aliases } = await idsOfUser(user, includeAliases, profiles);
    const sourceIds = new Set<string>();
    let messages = 0;
    for await (const { sourceId } of messagesOf(identities, store.log)) {
      signal?.throwIfAborted();
      // A built-in source has no messages from clients, so its destinations get no `delete` message.
      if (!isBuiltInSource(sourceId)) sourceIds.add(sourceId);
      messages += 1;
    }
    users.push({ ...user, identities, aliases, sourceIds: [...sourceIds] });
    found.push({
      messages,
      anonymousIds: devicesOf(identity, { identities, aliases }).length,
      ...(includeAliases && aliases.length > 0 ? { aliases: aliases.length } : {}),
      aliasesLeft: includeAliases ? 0 : aliases.length,
    });
  }
  // Count before anything is removed. A purge that is repeated after a crash would count only the rest.
  const receipt = withUsers(deletion, (user, index) => ({ ...user, ...found[index] }));
  return { kind: "done", users, receipt };
}

/** Removes a user from the log and the delivery queues. */
async function purgeUser(
  { identity, identities }: Pick<DeletedUser, "identity" | "identities">,
  parts: DeletionParts,
): Promise<{ attempts: number; retries: number }> {
  await parts.onPurged(identities);
  return removeMessages({ identities, requested: [identity] }, parts);
}

async function removeMessages(
  query: Parameters<Purging["purge"]>[0],
  { store, signal, onRetriesRemoved }: DeletionParts,
): Promise<{ attempts: number; retries: number }> {
  const { attempts, retries } = await store.purge(query, signal);
  if (retries > 0) onRetriesRemoved?.();
  return { attempts, retries };
}

async function purge(deletion: DeletionDocument, parts: DeletionParts): Promise<StepResult> {
  const removed: { attempts: number; retries: number }[] = [];
  for (const user of deletion.users ?? []) removed.push(await purgeUser(user, parts));
  return { kind: "done", receipt: withUsers(deletion, (user, index) => ({ ...user, ...removed[index] })) };
}

async function forget(deletion: DeletionDocument, parts: DeletionParts): Promise<StepResult> {
  const { profiles, clock } = parts;
  const { users = [] } = deletion;
  const forgotten = await profiles.forget(users);
  // Purge again: messages from clients or audiences may have been appended during the first purge.
  for (const user of users) await purgeUser(user, parts);
  // Audiences may have read those before they were purged.
  const removed = new Set(users.flatMap(({ identity, identities }) => [identity, ...identities]));
  await profiles.forget(Array.from(removed, (identity) => ({ identity, identities: [identity] })));
  const receipt = withUsers(deletion, (user, index) => {
    const { profile = false, audienceMemberships = 0 } = forgotten[index] ?? {};
    // When the step is repeated after a crash, there is nothing left to count, so keep the first result.
    return user.profile ? user : { ...user, profile, audienceMemberships };
  });
  return { kind: "done", receipt: { ...receipt, purgedAt: formatTime(clock.now()) } };
}

async function tell(id: string, deletion: DeletionDocument, parts: DeletionParts): Promise<StepResult> {
  const { store, clock, catalog } = parts;
  const { users = [] } = deletion;
  const all = await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination);
  const destinations = all.filter(({ value }) => value.enabled && takesDeletions(catalog, value.type));
  const concerned = concernedBy(all, users, catalog);
  const deleteMessages: DeletionReceipt["deleteMessages"][number][] = [];
  for (const [number, user] of users.entries()) {
    for (const sourceId of user.sourceIds) {
      const destinationIds = destinations
        .filter(({ value }) =>
          value.connections.some((one) => one.sourceId === sourceId && one.upTo === undefined),
        )
        .map((destination) => destination.id);
      if (destinationIds.length === 0) continue;
      for (const [place, identity] of namedIn(user).entries()) {
        const messageId = deleteMessageId(id, number, place, sourceId);
        await store.log.append(deleteMessage({ sourceId, messageId, identity, destinationIds }, clock.now()));
        const deliveries = destinationIds.map((destinationId) => deliveryNow(destinationId, true, undefined));
        deleteMessages.push({ sourceId, messageId, destinationIds, deliveries });
      }
    }
  }
  const named = concerned.length === 0 ? {} : { destinations: concerned };
  return { kind: "done", receipt: { ...deletion.receipt, deleteMessages, ...named } };
}

function takesDeletions(catalog: Pick<DeletionParts["catalog"], "get">, type: string): boolean {
  return (catalog.get(type)?.takesDeletions ?? "none") !== "none";
}

/** Receivers know a user by each user id. They must map user ids to anonymous ids themselves. */
function namedIn({ identity, identities }: DeletedUser): readonly Identity[] {
  return [...new Set([identity, ...identities.filter(isUserIdentity)])];
}

/** The id of a `delete` message. It differs per source, so that a receiver does not drop the second one as a duplicate. */
function deleteMessageId(deletionId: string, user: number, place: number, sourceId: string): string {
  return `${deletionId}-${user}${place === 0 ? "" : `.${place}`}-${sourceId}`;
}

/** Appending the message twice is safe, because the log deduplicates by source and message id. */
function deleteMessage(
  {
    sourceId,
    messageId,
    identity,
    destinationIds,
  }: {
    readonly sourceId: string;
    readonly messageId: string;
    readonly identity: Identity;
    readonly destinationIds: readonly string[];
  },
  nowMs: number,
): NewBatch {
  const named = isUserIdentity(identity) ? { userId: idOf(identity) } : { anonymousId: idOf(identity) };
  const message = { type: "delete", messageId, ...named, timestamp: formatTime(nowMs) };
  return {
    sourceId,
    receivedAtMs: nowMs,
    body: Buffer.from(JSON.stringify({ batch: [message] })),
    itemCount: 1,
    skipped: [],
    madeIds: [],
    // Not indexed under the user, so that another deletion of the same user does not remove it before it is delivered.
    keys: [{ index: 0, messageId, userId: "", type: "delete" }],
    onlyDestinations: destinationIds,
  };
}

async function erase(
  deletion: DeletionDocument,
  { store, profiles, clock, signal }: DeletionParts,
): Promise<StepResult> {
  await orAborted(store.compact(), signal);
  await orAborted(profiles.compact(), signal);
  return { kind: "done", receipt: { ...deletion.receipt, erasedAt: formatTime(clock.now()) } };
}

/** Waits for the deliveries of the `delete` messages, and records them. Once all are done, it removes the messages. */
async function trace(deletion: DeletionDocument, parts: DeletionParts): Promise<StepResult> {
  const { store, clock, signal } = parts;
  const { receipt, givesUp = false } = deletion;
  const deleteMessages = await withDeliveries(receipt.deleteMessages, store);
  const now: DeletionReceipt = { ...receipt, deleteMessages };
  const pending = deliveriesIn(deleteMessages, "pending").length;
  const failed = deliveriesIn(deleteMessages, "failed").length;
  if (pending + failed > 0 && !givesUp)
    return { kind: "waiting", receipt: now, status: pending > 0 ? "running" : "undelivered" };
  // The messages hold the only trace of their deliveries, so the receipt is stored before they are removed.
  if (JSON.stringify(now) !== JSON.stringify(receipt)) return { kind: "again", receipt: now };
  for (const { sourceId, messageId } of deleteMessages) await removeMessages({ sourceId, messageId }, parts);
  await orAborted(store.compact(), signal);
  const endedAt = formatTime(clock.now());
  const gaveUp = pending + failed > 0 ? { gaveUpAt: endedAt } : {};
  return { kind: "done", receipt: { ...now, ...gaveUp, tracesErasedAt: endedAt } };
}

/** In a cluster, a compaction uploads a snapshot: closing does not wait for it, and the next run of the step does it again. */
async function orAborted(compaction: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal?.reason);
  compaction.catch(() => {});
  if (signal?.aborted === true) abort();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([compaction, aborted.promise]);
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

type UserReceipt = DeletionReceipt["users"][number];

function withUsers(
  { receipt }: DeletionDocument,
  change: (user: UserReceipt, index: number) => UserReceipt,
): DeletionReceipt {
  return { ...receipt, users: receipt.users.map(change) };
}

/** The receipt of a deletion that has not started. */
export function emptyReceipt(identities: readonly Identity[], digest: IdDigest): DeletionReceipt {
  return {
    users: identities.map((identity) => ({
      idHmac: digest.of(identity),
      kind: isUserIdentity(identity) ? "user" : "anonymous",
      anonymousIds: 0,
      aliasesLeft: 0,
      messages: 0,
      attempts: 0,
      retries: 0,
      profile: false,
      audienceMemberships: 0,
    })),
    deleteMessages: [],
  };
}
