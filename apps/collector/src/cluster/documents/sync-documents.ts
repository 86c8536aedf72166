import { isDeepStrictEqual } from "node:util";
import {
  DOCUMENT_KINDS,
  type Offset,
  type Replica,
  StorageUnavailable,
  type Store,
  type Versioned,
} from "@sluice/event-log";
import {
  addedConnections,
  connectedSources,
  noteCatchUps,
  reconnect,
  removeDestination,
  switchSpans,
} from "../../delivery/control/connections.js";
import type { DestinationDocument } from "../../documents/documents.js";

/** Documents that are changed in the control partition, and that all partitions follow. */
export const FOLLOWED_KINDS: readonly string[] = [
  DOCUMENT_KINDS.source,
  DOCUMENT_KINDS.sourcePlan,
  DOCUMENT_KINDS.destination,
  DOCUMENT_KINDS.token,
  DOCUMENT_KINDS.notificationSettings,
];

export type ControlCopy = Pick<Replica, "documents" | "status" | "caughtUp">;

type Documents = readonly Versioned<unknown>[];

/**
 * Makes a partition's documents of these kinds those of the control partition. The copy must contain them: `since` is the entry up to which
 * it had the log when it was last found to be whole.
 */
export async function syncDocuments(
  control: ControlCopy,
  store: Store,
  since: number,
  kinds: readonly string[] = FOLLOWED_KINDS,
): Promise<void> {
  for (const [kind, wanted] of await readAll(control, since, kinds)) {
    const present = new Map((await store.config.list(kind)).map((document) => [document.id, document]));
    for (const document of wanted) await put(store, kind, document, present.get(document.id));
    const ids = new Set(wanted.map(({ id }) => id));
    for (const id of present.keys()) if (!ids.has(id)) await remove(store, kind, id);
  }
}

/** Rejects if the copy was replaced since then: a copy that is built again lacks documents, and what it lacks would be deleted. */
async function readAll(
  control: ControlCopy,
  since: number,
  kinds: readonly string[],
): Promise<readonly (readonly [kind: string, documents: Documents])[]> {
  const { applied } = control.status();
  const read: (readonly [string, Documents])[] = [];
  for (const kind of FOLLOWED_KINDS)
    if (kinds.includes(kind)) read.push([kind, await control.documents(kind)]);
  const now = control.status();
  if (now.role === "loading" || now.role === "closed" || now.applied < applied || applied < since)
    throw new StorageUnavailable("the copy of the control partition is being replaced");
  return read;
}

async function put(
  store: Store,
  kind: string,
  { id, value }: Versioned<unknown>,
  before: Versioned<unknown> | undefined,
): Promise<void> {
  const isDestination = kind === DOCUMENT_KINDS.destination;
  const known = before?.value as DestinationDocument | undefined;
  const after = isDestination
    ? destinationOfPartition(value as DestinationDocument, known, store.log.head())
    : value;
  if (isDeepStrictEqual(after, before?.value)) return;
  if (isDestination && known !== undefined)
    await noteCatchUps(store, id, addedConnections(known, after as DestinationDocument));
  await store.config.put(kind, id, after, before?.version ?? 0);
}

async function remove(store: Store, kind: string, id: string): Promise<void> {
  if (kind === DOCUMENT_KINDS.destination) await removeDestination(store, id);
  else await store.config.delete(kind, id);
}

/**
 * A destination as a partition stores it. Its offsets are those of the partition's log: a source is connected, and the destination is
 * disabled, from where the partition's log ends when the change arrives.
 */
export function destinationOfPartition(
  control: DestinationDocument,
  before: DestinationDocument | undefined,
  head: Offset,
): DestinationDocument {
  const connections = reconnect(before?.connections ?? [], connectedSources(control), head);
  return { ...control, connections, disabledSpans: disabledSpansOf(control, before, head) };
}

function disabledSpansOf(
  { enabled }: DestinationDocument,
  before: DestinationDocument | undefined,
  head: Offset,
): DestinationDocument["disabledSpans"] {
  if (before === undefined) return enabled ? [] : [{ after: head }];
  return before.enabled === enabled ? before.disabledSpans : switchSpans(before.disabledSpans, enabled, head);
}
