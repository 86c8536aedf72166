import { KB } from "@sluice/protocol";
import type { Rejection } from "../store/store.js";
import type { Refusal } from "./judge.js";
import type { OpenedRequest } from "./open-request.js";

/** How much of a refused message is kept for the debugger. */
const EXCERPT_BYTES = 4 * KB;

const lenient = new TextDecoder();

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
    issues,
    excerpt: withoutKey(excerptOf(request, index), from.writeKey),
  }));
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
