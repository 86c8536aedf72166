import { isPlainObject, KB, kindOf, type MessageKind } from "@sluice/protocol";
import type { CollectorError, ErrorCode } from "../errors.js";
import type { Rejection } from "../store/store.js";
import type { Refusal } from "./judge.js";
import type { OpenedRequest } from "./open-request.js";

/** How much of a refused message is kept for the debugger. */
const EXCERPT_BYTES = 4 * KB;

const lenient = new TextDecoder();

/** Codes of requests that are refused whole and remembered: what their sender did wrong, not what we are short of. */
const REMEMBERED: ReadonlySet<ErrorCode> = new Set([
  "malformed_json",
  "invalid_message",
  "payload_too_large",
  "unsupported_encoding",
  "invalid_write_key",
]);

/**
 * What is remembered of a request that was refused whole; undefined where there is nothing for its source's owner to mend.
 * A body that names another source's key is not kept: it may be that source's.
 */
export function wholeRejection(
  error: CollectorError,
  from: {
    readonly sourceId: string;
    readonly receivedAtMs: number;
    readonly writeKey: string;
    readonly body: Uint8Array | undefined;
  },
): Rejection | undefined {
  const { code } = error;
  if (!REMEMBERED.has(code)) return undefined;
  const body = code === "invalid_write_key" ? undefined : from.body?.subarray(0, EXCERPT_BYTES);
  return {
    sourceId: from.sourceId,
    receivedAtMs: from.receivedAtMs,
    issues: [{ code, path: "", message: error.message }],
    excerpt: body === undefined ? "" : withoutKey(lenient.decode(body), from.writeKey),
  };
}

/** What is remembered of refused messages. */
export function rejectionsOf(
  request: OpenedRequest,
  refusals: readonly Refusal[],
  from: { readonly sourceId: string; readonly receivedAtMs: number; readonly writeKey: string | undefined },
): Rejection[] {
  return refusals.map(({ index, messageId, issues }) => ({
    sourceId: from.sourceId,
    receivedAtMs: from.receivedAtMs,
    ...(messageId === undefined ? {} : { messageId }),
    ...typeOf(request.items[index]),
    issues,
    excerpt: withoutKey(excerptOf(request, index), from.writeKey),
  }));
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

function withoutKey(text: string, writeKey: string | undefined): string {
  return writeKey === undefined ? text : text.replaceAll(writeKey, "WRITE_KEY");
}
