import { type ScannedRequest, scanRequest } from "@sluice/event-log";
import { LIMITS, type MessageKind } from "@sluice/protocol";
import type { Suppressions } from "../../documents/suppressions.js";
import {
  MAX_ENVELOPE_BYTES,
  MAX_UNFOLDED_BYTES,
  type OpenedRequest,
  openInSlices,
  openRequest,
} from "./open-request.js";
import { suppressedItems } from "./suppressed.js";
import { eventLoopTurns, runInTurns } from "./validate-messages.js";

/** The messages of a body. */
export type ReadMessages =
  /** An ordinary body: the byte scanner found everything that is needed to store it. */
  | { readonly kind: "scanned"; readonly scan: ScannedRequest }
  /** A body with something that only the parser can decide. */
  | { readonly kind: "parsed"; readonly opened: OpenedRequest };

/** Reads a body: scans it, and parses it only where the scan is not enough. `kind`: the kind of a single message; undefined for a batch. */
export type MessageReader = (
  body: Uint8Array,
  kind: MessageKind | undefined,
  /** The messages must be looked into, so a scan is not enough. */
  mustParse: boolean,
) => ReadMessages | Promise<ReadMessages>;

/** Larger bodies are parsed in slices, each in its own turn of the event loop. */
const MAX_BYTES_AT_ONCE = LIMITS.messageBytes;

export function messageReader(suppressions: Pick<Suppressions, "isSuppressed"> | undefined): MessageReader {
  const nextTurn = eventLoopTurns();
  return (body, kind, mustParse) => {
    const scan = mustParse ? undefined : scanBody(body, kind, suppressions);
    if (scan !== undefined) return { kind: "scanned", scan };
    if (body.length <= MAX_BYTES_AT_ONCE) return { kind: "parsed", opened: openRequest(body, kind) };
    return runInTurns(openInSlices(body, kind), nextTurn).then((opened) => ({ kind: "parsed", opened }));
  };
}

/** Undefined if the body has to be parsed. */
function scanBody(
  body: Uint8Array,
  kind: MessageKind | undefined,
  suppressions: Pick<Suppressions, "isSuppressed"> | undefined,
): ScannedRequest | undefined {
  const scan = scanRequest(body, kind);
  if (scan === undefined || scan.envelopeBytes > MAX_ENVELOPE_BYTES) return undefined;
  if (scan.bytesAround * scan.keys.length > MAX_UNFOLDED_BYTES) return undefined;
  return suppressedItems(scan.keys, suppressions).size > 0 ? undefined : scan;
}
