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

/** A restored folder, and the deletions that later backups know. */
export interface RestoredFolder {
  readonly directory: string;
  readonly deletions: readonly BackedUpDeletion[];
}

/**
 * Finds the deletions of later backups that the restored folder lacks, and adds them as deletions that have not begun: a collector continues
 * those when it starts. Until they have run, the users' messages are not delivered. Deletions keep only digests of ids, so the users are
 * recognized among all ids in the log and in the profiles.
 */
export async function repeatDeletions(
  { directory, deletions }: RestoredFolder,
  secretKey: string | undefined,
): Promise<RepeatedDeletions> {
  const lacking = await lackingIn({ directory, deletions });
  const none = { repeated: 0, unneeded: 0, withoutKey: 0 };
  if (lacking.length === 0) return none;
  const key = await readKey(directory, secretKey);
  if (key === undefined) return { ...none, withoutKey: lacking.length };
  const digest = idDigest(idDigestKey(key));
  return withStore(directory, async (store) => {
    const known = await recognize(lacking, store, { directory, digest });
    const found = lacking.flatMap((deletion): Found[] => {
      const identities = deletion.users.flatMap(({ idHmac }) => known.get(idHmac) ?? []);
      return identities.length === 0 ? [] : [{ deletion, identities }];
    });
    for (const one of found) await addDeletion(one, store, digest);
    return { ...none, repeated: found.length, unneeded: lacking.length - found.length };
  });
}

async function lackingIn({ directory, deletions }: RestoredFolder): Promise<readonly BackedUpDeletion[]> {
  const all = new Map(deletions.map((one) => [one.id, one] as const));
  if (all.size > 0)
    await withStore(directory, async ({ config }) => {
      for (const { id } of await config.list(DELETION)) all.delete(id);
    });
  return [...all.values()];
}

async function withStore<T>(directory: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openSqliteStore({ directory, clock: systemClock });
  try {
    return await use(store);
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

/** Finds the ids of deleted users that are in the data of a folder, by their digests. */
async function recognize(
  deletions: readonly BackedUpDeletion[],
  store: Store,
  { directory, digest }: { readonly directory: string; readonly digest: IdDigest },
): Promise<ReadonlyMap<string, Identity>> {
  const known = new Map<string, Identity>();
  const wanted = new Set(deletions.flatMap(({ users }) => users.map(({ idHmac }) => idHmac)));
  const seen = new Set<Identity>();
  const look = (identity: Identity): void => {
    if (seen.has(identity)) return;
    seen.add(identity);
    const id = digest.of(identity);
    if (wanted.has(id)) known.set(id, identity);
  };
  for await (const identity of messageIdentities(store)) look(identity);
  const profiles = openSqliteProfileStore({ directory });
  try {
    for await (const identity of storedIdentities(profiles)) look(identity);
  } finally {
    await profiles.close();
  }
  return known;
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
  { deletion: { id, createdAt, suppress, includeAliases }, identities }: Found,
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
