import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { storedIdentities, storedIdsOf } from "@sluice/audiences";
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
import { DELETION, type DeletedUser, type DeletionDocument } from "../deletions/deletion.js";
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

/** A restored folder, and the deletions of its partition that later backups know. */
export interface RestoredFolder {
  readonly directory: string;
  readonly deletions: readonly BackedUpDeletion[];
}

/**
 * Finds the deletions of later backups that the restored folders lack, and adds them as deletions that have not begun: a collector continues
 * those when it starts. Until they have run, the users' messages are not delivered. Deletions keep only digests of ids, so the users are
 * recognized among all ids in the logs and in the profiles. A user is recognized in any folder, and deleted in each with the ids that belong
 * to the user: only one folder of several has the profiles.
 */
export async function repeatDeletions(
  folders: readonly RestoredFolder[],
  secretKey: string | undefined,
): Promise<readonly RepeatedDeletions[]> {
  const lacking = await Promise.all(folders.map((folder) => lackingIn(folder, secretKey)));
  const known: Known = { identities: new Map(), joined: new Map() };
  for (const { directory, deletions, digest } of lacking) {
    if (deletions.length === 0 || digest === undefined) continue;
    await withStore(directory, (store) => recognize(deletions, store, { directory, digest, known }));
  }
  if (folders.length > 1) {
    const all = lacking.flatMap(({ deletions }) => deletions);
    for (const { directory } of folders) await findJoined(directory, all, known);
  }
  const repeated: RepeatedDeletions[] = [];
  for (const folder of lacking) repeated.push(await addTo(folder, known));
  return repeated;
}

/** A folder with the deletions that it lacks. */
interface LackingFolder extends RestoredFolder {
  /** Undefined: the key to recognize users is not there. */
  readonly digest: IdDigest | undefined;
}

/** What was found in all folders. */
interface Known {
  /** By digest. */
  readonly identities: Map<string, Identity>;
  /** The ids that belong to an id, by deletion and id. */
  readonly joined: Map<string, Pick<DeletedUser, "identities" | "aliases">>;
}

async function lackingIn(
  { directory, deletions }: RestoredFolder,
  secretKey: string | undefined,
): Promise<LackingFolder> {
  const all = new Map(deletions.map((one) => [one.id, one] as const));
  if (all.size > 0)
    await withStore(directory, async ({ config }) => {
      for (const { id } of await config.list(DELETION)) all.delete(id);
    });
  const key = all.size === 0 ? undefined : await readKey(directory, secretKey);
  return {
    ...{ directory, deletions: [...all.values()] },
    digest: key === undefined ? undefined : idDigest(idDigestKey(key)),
  };
}

async function withStore<T>(directory: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openSqliteStore({ directory, clock: systemClock });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

async function addTo(
  { directory, deletions, digest }: LackingFolder,
  known: Known,
): Promise<RepeatedDeletions> {
  if (deletions.length === 0) return { repeated: 0, unneeded: 0, withoutKey: 0 };
  if (digest === undefined) return { repeated: 0, unneeded: 0, withoutKey: deletions.length };
  const found = deletions.flatMap((deletion): Found[] => {
    const identities = deletion.users.flatMap(({ idHmac }) => known.identities.get(idHmac) ?? []);
    return identities.length === 0 ? [] : [{ deletion, identities }];
  });
  await withStore(directory, async (store) => {
    for (const one of found) await addDeletion(one, store, digest, known);
  });
  return { repeated: found.length, unneeded: deletions.length - found.length, withoutKey: 0 };
}

/** What the profiles of a folder know of the users that were found. */
async function findJoined(
  directory: string,
  deletions: readonly BackedUpDeletion[],
  { identities, joined }: Known,
): Promise<void> {
  if (identities.size === 0) return;
  const profiles = openSqliteProfileStore({ directory });
  try {
    for (const { id, users, includeAliases = false } of deletions)
      for (const { idHmac } of users) {
        const identity = identities.get(idHmac);
        if (identity === undefined) continue;
        const found = await storedIdsOf(profiles, identity, includeAliases);
        if (found.identities.length > 1 || found.aliases.length > 0) joined.set(keyOf(id, identity), found);
      }
  } finally {
    await profiles.close();
  }
}

function keyOf(deletionId: string, identity: Identity): string {
  return `${deletionId} ${identity}`;
}

async function readKey(directory: string, given: string | undefined): Promise<Uint8Array | undefined> {
  const text = given || (await readFile(join(directory, "secret.key"), "utf8").catch(() => ""));
  return decodeKey(text.trim());
}

interface Found {
  readonly deletion: BackedUpDeletion;
  readonly identities: readonly Identity[];
}

/** Finds the ids of deleted users that are in the data of a folder. */
async function recognize(
  deletions: readonly BackedUpDeletion[],
  store: Store,
  {
    directory,
    digest,
    known,
  }: { readonly directory: string; readonly digest: IdDigest; readonly known: Known },
): Promise<void> {
  const wanted = new Set(deletions.flatMap(({ users }) => users.map(({ idHmac }) => idHmac)));
  const seen = new Set<Identity>();
  const look = (identity: Identity): void => {
    if (seen.has(identity)) return;
    seen.add(identity);
    const id = digest.of(identity);
    if (wanted.has(id)) known.identities.set(id, identity);
  };
  for await (const identity of messageIdentities(store)) look(identity);
  const profiles = openSqliteProfileStore({ directory });
  try {
    for await (const identity of storedIdentities(profiles)) look(identity);
  } finally {
    await profiles.close();
  }
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
  { joined }: Known,
): Promise<void> {
  for (const identity of identities) await holdBack(identity, { config, log }, digest);
  const document: DeletionDocument = {
    createdAt,
    suppress,
    includeAliases,
    status: "initialized",
    step: "suppress",
    users: identities.map((identity) => ({
      ...{ identity, identities: [], aliases: [], sourceIds: [] },
      ...joined.get(keyOf(id, identity)),
    })),
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
