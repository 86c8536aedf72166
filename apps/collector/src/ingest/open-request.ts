import { KB, LIMITS, type MessageKind } from "@sluice/protocol";
import { CollectorError } from "../errors.js";
import { type DecodedRequest, decodeRequest } from "../messages/decode-batch.js";
import { decodeUtf8 } from "../messages/parse-json.js";
import { type JsonScan, scanJson, withoutItems } from "../messages/scan-json.js";

/**
 * How deep a message may be nested. Jackson, on many receivers' side, reads as much by default; V8 writes some
 * thousands before its stack ends.
 */
export const MAX_NESTING = 1_000;

/**
 * What stands around a batch (its context and integrations) goes under each of its messages: a large one times many
 * messages is a small request that unfolds to gigabytes. Product of both, at most.
 */
export const MAX_UNFOLDED_BYTES = 4 * KB * KB;

/** A request's body after parsing, with what its bytes said. */
export interface OpenedRequest extends DecodedRequest {
  /** What is stored: as it arrived, with `null` in place of items that no parser should be given. */
  readonly body: Uint8Array;
  /** Of the body as it arrived. */
  readonly scan: JsonScan;
  readonly arrived: Uint8Array;
}

/** Parses a body whose size is within limits already; throws a `CollectorError` when the whole request is refused. */
export function openRequest(arrived: Uint8Array, kind: MessageKind | undefined): OpenedRequest {
  const isOneMessage = kind !== undefined;
  // A message of its own may have a field called `batch`, which is nothing but data.
  const items = isOneMessage ? Number.POSITIVE_INFINITY : LIMITS.batchMessages;
  const scan = scanJson(arrived, { depth: MAX_NESTING, items });
  if (scan.hasTooManyItems)
    throw new CollectorError("payload_too_large", `more than ${LIMITS.batchMessages} messages`);
  if (scan.isDeepOutside || (isOneMessage && scan.deepItems.length > 0))
    throw new CollectorError("malformed_json", `nested deeper than ${MAX_NESTING} levels`);
  const body = scan.deepItems.length === 0 ? arrived : withoutItems(arrived, scan, scan.deepItems);
  const content = kind === undefined ? { body } : { body, kind };
  let decoded: DecodedRequest;
  try {
    if (!isOneMessage && unfoldedBytes(body, scan) > MAX_UNFOLDED_BYTES)
      throw new CollectorError(
        "payload_too_large",
        "the batch's own context is too large for so many messages",
      );
    decoded = decodeRequest(content, scan.hasLongNumbers);
  } catch (cause) {
    if (cause instanceof CollectorError) throw cause;
    throw new CollectorError(
      "malformed_json",
      cause instanceof Error ? withoutExcerpt(cause.message) : undefined,
      {
        cause,
      },
    );
  }
  return { ...decoded, body, scan, arrived };
}

/** What the batch's context and integrations come to under each of its messages; 0 where it is clear at once that it is little. */
function unfoldedBytes(body: Uint8Array, scan: JsonScan): number {
  const [first = 0] = scan.bounds;
  const items = scan.bounds.length - 1;
  const bytesAround = body.length - ((scan.bounds.at(-1) ?? first) - first);
  if (items < 1 || bytesAround * items <= MAX_UNFOLDED_BYTES) return 0;
  // Other fields may take the space, and do no harm.
  const { context, integrations } = JSON.parse(decodeUtf8(body) ?? "") as { [field: string]: unknown };
  return JSON.stringify([context, integrations]).length * items;
}

/** V8 quotes the text around the error, which is the client's data: only what and where is told. */
function withoutExcerpt(message: string): string {
  return message.replace(/, (?:\.\.\.)?".*$/s, "").slice(0, 120);
}
