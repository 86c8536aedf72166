import { KB, LIMITS, type MessageKind } from "@sluice/protocol";
import { CollectorError } from "../errors.js";
import { coerceMessages, type DecodedRequest, requestOf } from "../messages/decode-batch.js";
import { type Findings, leastBytes } from "../messages/inspect-json.js";
import { decodeUtf8, parseJson, parseKeepingDigits } from "../messages/parse-json.js";
import { itemSpan, scanJson, withoutItems } from "../messages/scan-json.js";

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

/** A request's body after parsing. */
export interface OpenedRequest extends DecodedRequest {
  /** What is stored: as it arrived, with `null` in place of items that no parser should be given. */
  readonly body: Uint8Array;
  /** Items that are nested too deep. */
  readonly deepItems: ReadonlySet<number>;
  /** Whether some item may be larger than a message may be; without that, none needs to be measured. */
  readonly mayHaveLargeItems: boolean;
  /** The bytes of an item as they arrived, without white space around them. Found by reading the body again: for the few requests that need it. */
  bytesOf(index: number): Uint8Array;
}

/** Parses a body whose size is within limits already; throws a `CollectorError` when the whole request is refused. */
export function openRequest(arrived: Uint8Array, kind: MessageKind | undefined): OpenedRequest {
  const scan = lazily(() => scanJson(arrived, MAX_NESTING));
  let body = arrived;
  let request = requestOf(parse(body, JSON.parse), kind);
  if (request.isBatch && request.items.length > LIMITS.batchMessages)
    throw new CollectorError("payload_too_large", `more than ${LIMITS.batchMessages} messages`);

  const sizes = inspect(request);
  let deepItems: readonly number[] = [];
  if (sizes.isDeep) {
    if (!request.isBatch || scan().isDeepOutside)
      throw new CollectorError("malformed_json", `nested deeper than ${MAX_NESTING} levels`);
    deepItems = scan().deepItems;
    body = withoutItems(arrived, scan(), deepItems);
    request = requestOf(parse(body, parseJson), kind);
  } else if (sizes.hasLargeNumbers) request = requestOf(parse(body, parseKeepingDigits), kind);

  if (request.isBatch && unfoldedBytes(request, arrived.length - sizes.leastBytes) > MAX_UNFOLDED_BYTES)
    throw new CollectorError(
      "payload_too_large",
      "the batch's own context is too large for so many messages",
    );
  coerceMessages(request, kind === undefined ? {} : { kind });
  return {
    ...request,
    body,
    deepItems: new Set(deepItems),
    // All but the largest leave at least this much of the body to it.
    mayHaveLargeItems:
      request.isBatch && arrived.length - (sizes.leastBytes - sizes.largestBytes) > LIMITS.messageBytes,
    bytesOf: (index) => (request.isBatch ? arrived.subarray(...itemSpan(arrived, scan(), index)) : arrived),
  };
}

function parse(body: Uint8Array, parser: (text: string) => unknown): unknown {
  const text = decodeUtf8(body);
  if (text === undefined) throw new CollectorError("malformed_json", "it is not UTF-8");
  try {
    return parser(text);
  } catch (cause) {
    const reason = cause instanceof Error ? withoutExcerpt(cause.message) : undefined;
    throw new CollectorError("malformed_json", reason, { cause });
  }
}

interface Sizes extends Findings {
  /** What the JSON of all items took at least. */
  leastBytes: number;
  /** The most that `leastBytes` holds for one item. */
  largestBytes: number;
}

function inspect({ items, root, isBatch }: DecodedRequest): Sizes {
  const sizes: Sizes = { isDeep: false, hasLargeNumbers: false, leastBytes: 0, largestBytes: 0 };
  for (const item of items) {
    const bytes = leastBytes(item, sizes, MAX_NESTING);
    sizes.leastBytes += bytes;
    if (bytes > sizes.largestBytes) sizes.largestBytes = bytes;
  }
  if (isBatch && root !== undefined)
    for (const key in root) if (key !== "batch") leastBytes(root[key], sizes, MAX_NESTING);
  return sizes;
}

/** What the batch's context and integrations come to under each of its messages; 0 where it is clear at once that it is little. */
function unfoldedBytes({ items, root }: DecodedRequest, mostBytesAround: number): number {
  if (mostBytesAround * items.length <= MAX_UNFOLDED_BYTES) return 0;
  // Other fields and white space may take the room, and do no harm.
  return JSON.stringify([root?.context, root?.integrations]).length * items.length;
}

/** V8 quotes the text around the error, which is the client's data: only what and where is told. */
function withoutExcerpt(message: string): string {
  return message.replace(/, (?:\.\.\.)?".*$/s, "").slice(0, 120);
}

function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
