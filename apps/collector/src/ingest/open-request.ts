import { isUtf8 } from "node:buffer";
import {
  coerceMessages,
  type DecodedRequest,
  decodeUtf8,
  findTexts,
  inspectJson,
  itemSpan,
  type JsonScan,
  OPEN_ARRAY,
  OPEN_OBJECT,
  parseJson,
  requestOf,
  scanJson,
  skipBlanks,
  withoutItems,
} from "@sluice/event-log";
import { KB, LIMITS, type MessageKind } from "@sluice/protocol";
import { CollectorError } from "../errors.js";

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

/** What stands around the messages of a batch, white space not counted, has as much room as a message. */
export const MAX_ENVELOPE_BYTES = LIMITS.messageBytes;

/** Bytes of messages that are parsed in one slice, about. At worst a message of 32 KB takes some milliseconds. */
const SLICE_BYTES = 16 * KB;

/** A request's body after parsing. */
export interface OpenedRequest extends DecodedRequest {
  /** What is stored: as it arrived, with `null` in place of items that no parser should be given. */
  readonly body: Uint8Array;
  /** Items that are nested too deep. They were not parsed. */
  readonly deepItems: ReadonlySet<number>;
  /** Items that are over the limit of a message. They were not parsed: of their fields the items have only `type` and `messageId`. */
  readonly largeItems: ReadonlySet<number>;
  /** The bytes of an item as they arrived, without white space around them. */
  bytesOf(index: number): Uint8Array;
}

/** Parses a body whose size is within limits already; throws a `CollectorError` when the whole request is refused. */
export function openRequest(body: Uint8Array, kind: MessageKind | undefined): OpenedRequest {
  const slices = openInSlices(body, kind);
  for (;;) {
    const slice = slices.next();
    if (slice.done) return slice.value;
  }
}

/** As `openRequest`, with a pause after each few milliseconds of work. */
export function* openInSlices(
  body: Uint8Array,
  kind: MessageKind | undefined,
): Generator<void, OpenedRequest> {
  if (!isUtf8(body)) throw new CollectorError("malformed_json", "it is not UTF-8");
  const opened = kind === undefined ? yield* openBatch(body) : openSingle(body, kind);
  coerceMessages(opened, kind === undefined ? {} : { kind });
  return opened;
}

function openSingle(body: Uint8Array, kind: MessageKind | undefined): OpenedRequest {
  const request = requestOf(parse(body), kind);
  if (inspectJson(request.items[0], MAX_NESTING).isDeep) throw tooDeep();
  return { ...request, body, deepItems: NONE, largeItems: NONE, bytesOf: () => body };
}

/**
 * The messages of a batch are parsed one by one. Together with what stands around them they are JSON exactly if the whole is. So a
 * message that is too large or nested too deep is never given to the parser, and no single step takes long.
 */
function* openBatch(arrived: Uint8Array): Generator<void, OpenedRequest> {
  const scan = scanJson(arrived, MAX_NESTING);
  if (!scan.isClosed) throw notClosed(arrived);
  if (scan.isDeepOutside) throw tooDeep();
  const count = Math.max(0, scan.bounds.length - 1);
  if (hasEmptyItem(arrived, scan))
    throw new CollectorError("malformed_json", "a message is missing at a comma");
  if (count > LIMITS.batchMessages)
    throw new CollectorError("payload_too_large", `more than ${LIMITS.batchMessages} messages`);
  const envelope = envelopeOf(arrived, scan);
  assertSmall(envelope, scan);
  yield;

  const around = requestOf(parse(envelope), undefined);
  // What is no batch is told so by whoever asked for one.
  if (!around.isBatch)
    return { ...around, body: arrived, deepItems: NONE, largeItems: NONE, bytesOf: () => arrived };
  if (unfoldedBytes(around, envelope.length, count) > MAX_UNFOLDED_BYTES)
    throw new CollectorError(
      "payload_too_large",
      "the batch's own context is too large for so many messages",
    );

  const bytesOf = (index: number): Uint8Array => arrived.subarray(...itemSpan(arrived, scan, index));
  const deepItems = new Set(scan.deepItems);
  const largeItems = new Set<number>();
  const items: unknown[] = [];
  let parsedBytes = 0;
  for (let index = 0; index < count; index++) {
    const bytes = bytesOf(index);
    if (bytes.length > LIMITS.messageBytes) largeItems.add(index);
    items.push(deepItems.has(index) ? null : largeItems.has(index) ? findTexts(bytes, NAMING) : parse(bytes));
    parsedBytes += bytes.length;
    if (parsedBytes < SLICE_BYTES) continue;
    parsedBytes = 0;
    yield;
  }
  const unparsed = [...new Set([...deepItems, ...largeItems])].sort((a, b) => a - b);
  const body = unparsed.length === 0 ? arrived : withoutItems(arrived, scan, unparsed);
  return { items, root: around.root, isBatch: true, body, deepItems, largeItems, bytesOf };
}

const NONE: ReadonlySet<number> = new Set();

function tooDeep(): CollectorError {
  return new CollectorError("malformed_json", `nested deeper than ${MAX_NESTING} levels`);
}

/** The parser says where, if it does not take long. */
function notClosed(body: Uint8Array): CollectorError {
  if (body.length <= LIMITS.messageBytes) parse(body);
  return new CollectorError("malformed_json", "its brackets or quotation marks do not match");
}

/** The body without the messages of its batch. */
function envelopeOf(body: Uint8Array, { bounds }: JsonScan): Uint8Array {
  const [first] = bounds;
  const last = bounds.at(-1);
  if (first === undefined || last === undefined || bounds.length < 2) return body;
  return Buffer.concat([body.subarray(0, first), body.subarray(last - 1)]);
}

function hasEmptyItem(body: Uint8Array, scan: JsonScan): boolean {
  for (let index = 0; index < scan.bounds.length - 1; index++) {
    const [start, end] = itemSpan(body, scan, index);
    if (start === end) return true;
  }
  return false;
}

function assertSmall(envelope: Uint8Array, { bounds }: JsonScan): void {
  if (envelope.length <= MAX_ENVELOPE_BYTES) return;
  let bytes = 0;
  for (const byte of envelope) if (byte > 0x20) bytes++;
  if (bytes <= MAX_ENVELOPE_BYTES) return;
  if (!isContainer(envelope)) throw new CollectorError("malformed_json", "it is no object");
  if (bounds.length === 0) throw noBatch();
  throw new CollectorError(
    "payload_too_large",
    `more than ${MAX_ENVELOPE_BYTES} bytes stand around the messages of the batch`,
  );
}

/** Whether an object or an array begins there. */
function isContainer(body: Uint8Array): boolean {
  const first = body[skipBlanks(body, 0)];
  return first === OPEN_OBJECT || first === OPEN_ARRAY;
}

/** Of a path that takes batches, for a body that is none. */
export function noBatch(): CollectorError {
  return new CollectorError("invalid_message", "the body must be an object with an array `batch`");
}

/** Fields by which a refusal names a message. */
const NAMING: ReadonlySet<string> = new Set(["type", "messageId"]);

function parse(body: Uint8Array): unknown {
  const text = decodeUtf8(body);
  if (text === undefined) throw new CollectorError("malformed_json", "it is not UTF-8");
  try {
    return parseJson(text);
  } catch (cause) {
    const reason = cause instanceof Error ? withoutExcerpt(cause.message) : undefined;
    throw new CollectorError("malformed_json", reason, { cause });
  }
}

/** What the batch's context and integrations come to under each of its messages; 0 where it is clear at once that it is little. */
function unfoldedBytes({ root }: DecodedRequest, mostBytesAround: number, count: number): number {
  if (mostBytesAround * count <= MAX_UNFOLDED_BYTES) return 0;
  // Other fields and white space may take the room, and do no harm.
  return JSON.stringify([root?.context, root?.integrations]).length * count;
}

/** V8 quotes the text around the error, which is the client's data: only what and where is told. */
function withoutExcerpt(message: string): string {
  return message.replace(/, (?:\.\.\.)?".*$/s, "").slice(0, 120);
}
