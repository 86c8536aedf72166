import type { SetAsideView } from "@sluice/control-api";
import { lastMessageIndex, type Offset, offsetAt, type StoredBatch } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";

/** Messages of the log, from one to another, both included. */
export interface Span {
  readonly from: Offset;
  readonly to: Offset;
}

/**
 * The messages that the engine is about to count. Stored before it begins, and removed by the commit that counts them: an engine that finds
 * a marker at its start knows that the engine before it crashed over these messages. Stored as it is: the field names are a format.
 */
export interface CrashMarker extends Span {
  /** How often counting them was begun. */
  readonly begun: number;
  /** When they are taken one by one: the request that is being read. */
  readonly request?: Span & { readonly begun: number };
  /** When they are taken one by one: the message that is being counted. */
  readonly message?: { readonly offset: Offset; readonly begun: number };
}

/**
 * Where a process keeps its marker, if not in the store of the profiles. Where several processes share a store, one that is replaced
 * while it counts leaves a marker there although it did not crash, and nobody can tell.
 */
export interface CrashMarkers {
  load(): CrashMarker | undefined;
  /** Undefined removes it. Throws `StorageUnavailable`. */
  save(marker: CrashMarker | undefined): void;
}

/** After this many failures messages are taken one by one; after this many more the failing one is set aside. */
const MOST_FAILURES = 2;

/** The marker for the next messages, after `last` was left unfinished. */
export function nextMarker(last: CrashMarker | undefined, { from, to }: Span): CrashMarker {
  if (last === undefined || from < last.from || from > last.to) return { from, to, begun: 1 };
  if (isOneByOne(last)) return last;
  return { from, to, begun: from === last.from ? last.begun + 1 : 1 };
}

/** Whether the messages are taken one by one, because together they failed too often. */
export function isOneByOne({ begun }: CrashMarker): boolean {
  return begun > MOST_FAILURES;
}

/** The marker for reading a request; undefined if that failed too often. */
export function markRequest(last: CrashMarker, { from, to }: Span): CrashMarker | undefined {
  const isSame = last.request?.from === from && last.request.to === to;
  const begun = isSame ? (last.request?.begun ?? 0) + 1 : 1;
  return begun > MOST_FAILURES ? undefined : { ...last, request: { from, to, begun } };
}

/** The marker for counting a message, whose request has been read; undefined if that failed too often. */
export function markMessage(last: CrashMarker, offset: Offset): CrashMarker | undefined {
  const begun = last.message?.offset === offset ? last.message.begun + 1 : 1;
  const { request: _, ...rest } = last;
  return begun > MOST_FAILURES ? undefined : { ...rest, message: { offset, begun } };
}

/** Messages that are not counted because the engine failed over them repeatedly: one message, or a request that could not be read. */
export interface SetAside extends Span {
  readonly kind: "message" | "request";
  readonly sourceId: string;
  readonly receivedAtMs: number;
  /** Only of a message. */
  readonly messageId?: string;
}

/** How many are remembered: the latest ones. */
export const MOST_SET_ASIDE = 1_000;

export function setAsideView({ from, to, sourceId, receivedAtMs, messageId }: SetAside): SetAsideView {
  return {
    sourceId,
    receivedAt: formatTime(receivedAtMs),
    messages: to - from + 1,
    ...(messageId === undefined ? {} : { messageId }),
  };
}

export function isSetAside(all: readonly SetAside[], offset: number): boolean {
  return all.some(({ from, to }) => offset >= from && offset <= to);
}

/** The batches without requests that could not be read. */
export function readable(batches: readonly StoredBatch[], all: readonly SetAside[]): readonly StoredBatch[] {
  const unread = all.filter(({ kind }) => kind === "request");
  if (unread.length === 0) return batches;
  return batches.filter((batch) => !isSetAside(unread, offsetAt(batch.first, lastMessageIndex(batch))));
}
