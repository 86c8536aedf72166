import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { storedIdentities } from "@sluice/audiences";
import {
  BEFORE_FIRST,
  decodeBatch,
  type IdDigest,
  type Identity,
  idDigest,
  idDigestKey,
  lastMessageIndex,
  offsetAt,
  openSqliteProfileStore,
  openSqliteStore,
  type Store,
  SUPPRESSION,
  type SuppressionDocument,
  usersOf,
} from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import { systemClock } from "@sluice/resilience";
import { DELETION, type DeletionDocument } from "../deletions/deletion.js";
import { emptyReceipt } from "../deletions/run-step.js";
import { decodeKey } from "../destinations/secret-box.js";
import { keyName } from "../documents/suppressions.js";
import type { BackedUpDeletion } from "./manifest.js";

/** Deletions that were made after the restored backup, as later backups say. */
export interface RepeatedDeletions {
  /** They begin when the collector starts. */
  readonly repeated: number;
  /** Their users are not in the backup. */
  readonly unneeded: number;
  /** The key to recognize their users is not in the backup. */
  readonly withoutKey: number;
}

const AT_ONCE = { messages: 5_000, bytes: 8 * 1_024 * 1_024 };

/**
 * Finds the deletions of later backups that the restored folder lacks, and adds them as deletions that have not begun: a collector continues
 * those when it starts. Until they have run, the users' messages are not delivered. Deletions keep only digests of ids, so the users are
 * recognized among all ids in the log and in the profiles.
 */
export async function repeatDeletions(
  directory: string,
  deletions: readonly BackedUpDeletion[],
  secretKey: string | undefined,
): Promise<RepeatedDeletions> {
  const all = new Map(deletions.map((one) => [one.id, one] as const));
  const none = { repeated: 0, unneeded: 0, withoutKey: 0 };
  if (all.size === 0) return none;
  const store = await openSqliteStore({ directory, clock: systemClock });
  try {
    for (const { id } of await store.config.list(DELETION)) all.delete(id);
    if (all.size === 0) return none;
    const key = await readKey(directory, secretKey);
    if (key === undefined) return { ...none, withoutKey: all.size };
    const digest = idDigest(idDigestKey(key));
    const found = await recognize([...all.values()], store, directory, digest);
    for (const { deletion, identities } of found) await addDeletion(deletion, identities, store, digest);
    return { ...none, repeated: found.length, unneeded: all.size - found.length };
  } finally {
    await store.close();
  }
}

async function readKey(directory: string, given: string | undefined): Promise<Uint8Array | undefined> {
  const text = given || (await readFile(join(directory, "secret.key"), "utf8").catch(() => ""));
  return decodeKey(text.trim());
}

interface Found {
  readonly deletion: BackedUpDeletion;
  readonly identities: readonly Identity[];
}

/** The deletions of which users are in the data, with their ids. */
async function recognize(
  deletions: readonly BackedUpDeletion[],
  store: Store,
  directory: string,
  digest: IdDigest,
): Promise<Found[]> {
  const wanted = new Map<string, Identity | undefined>(
    deletions.flatMap(({ users }) => users.map(({ idHmac }) => [idHmac, undefined] as const)),
  );
  const seen = new Set<Identity>();
  const look = (identity: Identity): void => {
    if (seen.has(identity)) return;
    seen.add(identity);
    const id = digest.of(identity);
    if (wanted.has(id)) wanted.set(id, identity);
  };
  for await (const identity of messageIdentities(store)) look(identity);
  const profiles = openSqliteProfileStore({ directory });
  try {
    for await (const identity of storedIdentities(profiles)) look(identity);
  } finally {
    await profiles.close();
  }
  return deletions.flatMap((deletion) => {
    const identities = deletion.users.flatMap(({ idHmac }) => wanted.get(idHmac) ?? []);
    return identities.length === 0 ? [] : [{ deletion, identities }];
  });
}

async function* messageIdentities({ log }: Store): AsyncGenerator<Identity> {
  let after = BEFORE_FIRST;
  for (;;) {
    const batches = await log.read(after, AT_ONCE);
    for (const batch of batches) for (const { message } of decodeBatch(batch)) yield* usersOf(message);
    const last = batches.at(-1);
    if (last === undefined) return;
    after = offsetAt(last.first, lastMessageIndex(last));
  }
}

async function addDeletion(
  { id, createdAt, suppress, includeAliases }: BackedUpDeletion,
  identities: readonly Identity[],
  { config, log }: Store,
  digest: IdDigest,
): Promise<void> {
  for (const identity of identities) await holdBack(identity, { config, log }, digest);
  const document: DeletionDocument = {
    createdAt,
    suppress,
    includeAliases,
    status: "initialized",
    step: "suppress",
    users: identities.map((identity) => ({ identity, identities: [], aliases: [], sourceIds: [] })),
    receipt: emptyReceipt(identities, digest),
  };
  await config.put(DELETION, id, document, 0);
}

/** Delivery begins before the deletion has removed the messages, so it is told to leave them out. */
async function holdBack(
  identity: Identity,
  { config, log }: Pick<Store, "config" | "log">,
  digest: IdDigest,
): Promise<void> {
  const id = digest.of(identity);
  const known = await config.get<SuppressionDocument>(SUPPRESSION, id);
  const span = { after: BEFORE_FIRST, upTo: log.head() };
  const document: SuppressionDocument =
    known === undefined
      ? {
          of: id,
          kind: identity.startsWith("u:") ? "user" : "anonymous",
          key: keyName(digest),
          since: formatTime(systemClock.now()),
          spans: [span],
        }
      : { ...known.value, spans: [span, ...known.value.spans] };
  await config.put(SUPPRESSION, id, document);
}
