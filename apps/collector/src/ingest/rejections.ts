import type { Identity, Rejection } from "@sluice/event-log";
import { namedUsers, usersOf } from "@sluice/event-log";
import { isPlainObject, KB, kindOf, LIMITS, type MessageKind } from "@sluice/protocol";
import type { Suppressions } from "../documents/suppressions.js";
import type { CollectorError, ErrorCode } from "../errors.js";
import type { Refusal } from "./judge.js";
import type { OpenedRequest } from "./open-request.js";

/** How much of a refused message is kept for the debugger. */
const EXCERPT_BYTES = 4 * KB;
/** How far users are looked for in what cannot be parsed: to the end of a message that the excerpt shows the beginning of. */
const SEARCHED_BYTES = EXCERPT_BYTES + LIMITS.messageBytes;

const lenient = new TextDecoder();

/** Codes of requests that are refused whole and remembered: what their sender did wrong, not what we are short of. */
const REMEMBERED: ReadonlySet<ErrorCode> = new Set([
  "malformed_json",
  "invalid_message",
  "payload_too_large",
  "unsupported_encoding",
  "invalid_write_key",
]);

/** Where something refused came from, and of whom nothing may be kept. */
export interface RefusedFrom {
  readonly sourceId: string;
  readonly receivedAtMs: number;
  readonly writeKey: string | undefined;
  readonly suppressions: Pick<Suppressions, "isSuppressed"> | undefined;
}

/**
 * What is remembered of a request that was refused whole; undefined where there is nothing for its source's owner to mend.
 * A body that names another source's key is not kept: it may be that source's.
 */
export function wholeRejection(
  error: CollectorError,
  from: RefusedFrom & { readonly body: Uint8Array | undefined },
): Rejection | undefined {
  const { code } = error;
  if (!REMEMBERED.has(code)) return undefined;
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

/** The excerpt, with the users whose deletion removes it; empty where one of them is suppressed. */
function contents(
  text: string,
  identities: readonly Identity[],
  { writeKey, suppressions }: RefusedFrom,
): Pick<Rejection, "excerpt" | "identities"> {
  if (identities.some((identity) => suppressions?.isSuppressed(identity))) return { excerpt: "" };
  const excerpt = withoutKeys(text, writeKey);
  return identities.length === 0 ? { excerpt } : { excerpt, identities };
}

/** What is remembered of refused messages. */
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

/** What names another source's key may be that source's. */
function isForeign(issues: Refusal["issues"]): boolean {
  return issues.some(({ code }) => code === "invalid_write_key");
}

function usersIn(request: OpenedRequest, index: number): Identity[] {
  if (request.largeItems.has(index)) return namedUsers(lenient.decode(request.bytesOf(index)));
  const item = request.items[index];
  if (isPlainObject(item)) return usersOf(item);
  return namedUsers(lenient.decode(request.bytesOf(index).subarray(0, SEARCHED_BYTES)));
}

/** The kind, if it is one: anything else may be long, and stands in the excerpt. */
function typeOf(item: unknown): { readonly type?: MessageKind } {
  const kind = isPlainObject(item) ? kindOf(item) : undefined;
  return kind === undefined ? {} : { type: kind };
}

/** The beginning of a message as it arrived. */
function excerptOf(request: OpenedRequest, index: number): string {
  const bytes = request.bytesOf(index).subarray(0, EXCERPT_BYTES);
  // A character that the cut went through is left out rather than shown as a broken one.
  return lenient.decode(bytes, { stream: false }).replace(/\ufffd$/, "");
}

/** Values of write keys, whosoever they are; the last one may be cut. */
const KEYS = /("writeKey"\s*:\s*")(?:[^"\\]|\\.)*(\\?$|")/gs;

function withoutKeys(text: string, writeKey: string | undefined): string {
  const shown = text.replace(KEYS, "$1WRITE_KEY$2");
  return writeKey === undefined ? shown : shown.replaceAll(writeKey, "WRITE_KEY");
}
