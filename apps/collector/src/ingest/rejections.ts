import { type Identity, namedUsers, type Rejection, type Store, usersOf } from "@sluice/event-log";
import { isPlainObject, KB, kindOf, LIMITS, type MessageKind } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { Suppressions } from "../documents/suppressions.js";
import { type CollectorError, collectorErrorOf, type ErrorCode } from "../errors.js";
import type { LiveEvents } from "../process/telemetry/live-events.js";
import type { IngestMetrics } from "./ingest-metrics.js";
import type { OpenedRequest } from "./messages/open-request.js";
import type { Refusal } from "./messages/validate-messages.js";
import type { Credentials } from "./sources/authenticator.js";

/** How much of a refused message the debugger shows. */
const EXCERPT_BYTES = 4 * KB;
/** How far to look for user ids in bytes that cannot be parsed: to the end of any message that the excerpt shows a part of. */
const SEARCHED_BYTES = EXCERPT_BYTES + LIMITS.messageBytes;

const lenient = new TextDecoder();

/** Errors of the sender, which are recorded and count to its rate when they refuse a whole request. Shortages of the collector do not. */
const OF_SENDER: ReadonlySet<ErrorCode> = new Set([
  "malformed_json",
  "invalid_message",
  "payload_too_large",
  "unsupported_encoding",
  "invalid_write_key",
]);

export function isOfSender(error: unknown): boolean {
  return OF_SENDER.has(collectorErrorOf(error).code);
}

/** Where a refused request came from, and which users must not be recorded. */
interface RefusedFrom {
  readonly sourceId: string;
  readonly receivedAtMs: number;
  readonly writeKey: string | undefined;
  readonly suppressions: Pick<Suppressions, "isSuppressed"> | undefined;
}

/**
 * The record of a request that was refused as a whole; undefined if the source's owner cannot fix the cause. The body is left out if
 * it names another source's key, because it may belong to that source.
 */
function wholeRejection(
  error: CollectorError,
  from: RefusedFrom & { readonly body: Uint8Array | undefined },
): Rejection | undefined {
  const { code } = error;
  if (!OF_SENDER.has(code)) return undefined;
  const body = code === "invalid_write_key" ? undefined : from.body;
  return {
    sourceId: from.sourceId,
    receivedAtMs: from.receivedAtMs,
    issues: [{ code, path: "", message: error.message }],
    ...(body === undefined
      ? { excerpt: "" }
      : contents(
          lenient.decode(body.subarray(0, EXCERPT_BYTES)),
          namedUsers(lenient.decode(body.subarray(0, SEARCHED_BYTES))),
          from,
        )),
  };
}

/** The excerpt, with the users whose deletion removes it. Empty if one of them is suppressed. */
function contents(
  text: string,
  identities: readonly Identity[],
  { writeKey, suppressions }: RefusedFrom,
): Pick<Rejection, "excerpt" | "identities"> {
  if (identities.some((identity) => suppressions?.isSuppressed(identity))) return { excerpt: "" };
  const excerpt = withoutKeys(text, writeKey);
  return identities.length === 0 ? { excerpt } : { excerpt, identities };
}

/** The records of refused messages. */
export function rejectionsOf(
  request: OpenedRequest,
  refusals: readonly Refusal[],
  from: RefusedFrom,
): Rejection[] {
  return refusals.map(({ index, messageId, issues }) => ({
    sourceId: from.sourceId,
    receivedAtMs: from.receivedAtMs,
    ...(messageId === undefined ? {} : { messageId }),
    ...typeOf(request.items[index]),
    issues,
    ...(isForeign(issues)
      ? { excerpt: "" }
      : contents(excerptOf(request, index), usersIn(request, index), from)),
  }));
}

/** A message with another source's key may belong to that source. */
function isForeign(issues: Refusal["issues"]): boolean {
  return issues.some(({ code }) => code === "invalid_write_key");
}

function usersIn(request: OpenedRequest, index: number): Identity[] {
  if (request.largeItems.has(index)) return namedUsers(lenient.decode(request.bytesOf(index)));
  const item = request.items[index];
  if (isPlainObject(item)) return usersOf(item);
  return namedUsers(lenient.decode(request.bytesOf(index).subarray(0, SEARCHED_BYTES)));
}

/** The kind, if it is a known one: other values may be long, and the excerpt shows them. */
function typeOf(item: unknown): { readonly type?: MessageKind } {
  const kind = isPlainObject(item) ? kindOf(item) : undefined;
  return kind === undefined ? {} : { type: kind };
}

/** The first bytes of a message, as they arrived. */
function excerptOf(request: OpenedRequest, index: number): string {
  const bytes = request.bytesOf(index).subarray(0, EXCERPT_BYTES);
  // Drop a character that the cut went through.
  return lenient.decode(bytes, { stream: false }).replace(/\ufffd$/, "");
}

/** Values of all write keys; the last one may be cut off. */
const KEYS = /("writeKey"\s*:\s*")(?:[^"\\]|\\.)*(\\?$|")/gs;

function withoutKeys(text: string, writeKey: string | undefined): string {
  const shown = text.replace(KEYS, "$1WRITE_KEY$2");
  return writeKey === undefined ? shown : shown.replaceAll(writeKey, "WRITE_KEY");
}

/** A single message was refused, which is counted and recorded with its issues. */
function isOfMessage({ code, details }: CollectorError): boolean {
  return code === "invalid_message" && details?.issues !== undefined;
}

interface RejectionRecorderOptions {
  readonly store: Pick<Store, "rejections">;
  readonly live: Pick<LiveEvents, "watched" | "publish">;
  readonly metrics: IngestMetrics;
  readonly clock: Clock;
  readonly suppressions?: Pick<Suppressions, "isSuppressed"> | undefined;
}

/** Records refused messages for the debugger. */
export interface RejectionRecorder {
  add(rejections: readonly Rejection[]): void;
  /** Counts a request that was refused whole, and records it if its header named a valid key. */
  addRequest(error: unknown, header: Credentials | undefined, body: Uint8Array | undefined): void;
}

export function rejectionRecorder(options: RejectionRecorderOptions): RejectionRecorder {
  const { store, live, metrics, clock, suppressions } = options;
  const add = (rejections: readonly Rejection[]): void => {
    store.rejections.add(rejections);
    if (live.watched) for (const rejection of rejections) live.publish({ kind: "rejected", rejection });
  };
  return {
    add,
    addRequest(error, header, body) {
      const refusal = collectorErrorOf(error);
      if (refusal.code === "internal" || isOfMessage(refusal)) return;
      metrics.refused(refusal.code);
      if (header === undefined) return;
      const { source, writeKey } = header;
      const from = { sourceId: source.id, receivedAtMs: clock.now(), writeKey, body, suppressions };
      const rejection = wholeRejection(refusal, from);
      if (rejection !== undefined) add([rejection]);
    },
  };
}
