import type { Offset } from "@sluice/event-log";

/** Messages of the log, from one to another, both included. */
export interface Span {
  readonly from: Offset;
  readonly to: Offset;
}

/**
 * Messages that the engine is about to count, stored before it begins and removed by the commit that counts them. An engine that
 * finds one at its start knows that the one before it died over these messages.
 */
export interface CrashMarker extends Span {
  /** How often they were begun. */
  readonly begun: number;
  /** Where they are taken one by one: the request that is being read. */
  readonly request?: Span & { readonly begun: number };
  /** And the message that is under way, or was when the engine died. */
  readonly message?: { readonly offset: Offset; readonly begun: number };
}

/** What fails so often is taken apart; what cannot be taken apart is set aside. */
const MOST_FAILURES = 2;

/** How the next messages are begun, when `last` was left unfinished. */
export function nextMarker(last: CrashMarker | undefined, { from, to }: Span): CrashMarker {
  if (last === undefined || from < last.from || from > last.to) return { from, to, begun: 1 };
  if (isOneByOne(last)) return last;
  return { from, to, begun: from === last.from ? last.begun + 1 : 1 };
}

/** Whether the messages are to be taken one by one: together they failed too often. */
export function isOneByOne({ begun }: CrashMarker): boolean {
  return begun > MOST_FAILURES;
}

/** How a request is begun to be read; undefined: that failed too often. */
export function markRequest(last: CrashMarker, { from, to }: Span): CrashMarker | undefined {
  const isSame = last.request?.from === from && last.request.to === to;
  const begun = isSame ? (last.request?.begun ?? 0) + 1 : 1;
  return begun > MOST_FAILURES ? undefined : { ...last, request: { from, to, begun } };
}

/** How a message is begun; undefined: that failed too often. Its request has been read by then. */
export function markMessage(last: CrashMarker, offset: Offset): CrashMarker | undefined {
  const begun = last.message?.offset === offset ? last.message.begun + 1 : 1;
  const { request: _, ...rest } = last;
  return begun > MOST_FAILURES ? undefined : { ...rest, message: { offset, begun } };
}
