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
  skipWhitespace,
  withoutItems,
} from "@sluice/event-log";
import { KB, LIMITS, type MessageKind } from "@sluice/protocol";
import { CollectorError } from "../../errors.js";

/** How deep a message may be nested. Jackson, which many receivers use, reads this much by default; V8 writes a few thousand levels. */
export const MAX_NESTING = 1_000;

/**
 * The context and integrations of a batch are merged into each of its messages, so a small request with a large context and many
 * messages would unfold to gigabytes. This bounds their product.
 */
export const MAX_UNFOLDED_BYTES = 4 * KB * KB;

/** The envelope is everything of a batch except its messages. Without white space it may be as large as a message. */
export const MAX_ENVELOPE_BYTES = LIMITS.messageBytes;

/** About how many bytes of messages are parsed in one slice. A message of 32 KB takes a few milliseconds at worst. */
const SLICE_BYTES = 16 * KB;

/** A parsed body. */
export interface OpenedRequest extends DecodedRequest {
  /** The bytes to store: as they arrived, with `null` in place of items that are not parsed. */
  readonly body: Uint8Array;
  /** Items that are nested too deep, and so not parsed. */
  readonly deepItems: ReadonlySet<number>;
  /** Items over the size limit of a message, and so not parsed: they have only the fields `type` and `messageId`. */
  readonly largeItems: ReadonlySet<number>;
  /** The bytes of an item as they arrived, without white space around them. */
  bytesOf(index: number): Uint8Array;
}

/** Parses a body whose size was checked before. Throws a `CollectorError` if the whole request is refused. */
export function openRequest(body: Uint8Array, kind: MessageKind | undefined): OpenedRequest {
  const slices = openInSlices(body, kind);
  for (;;) {
    const slice = slices.next();
    if (slice.done) return slice.value;
  }
}

/** Like `openRequest`, but yields after every few milliseconds of work. */
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
 * Parses a batch, and leaves its messages as the client wrote them. The envelope and the messages are parsed one by one; the whole is
 * valid JSON exactly if all of them are. So messages that are too large or too deep never reach the parser, and no slice takes long.
 */
export function* openBatch(arrived: Uint8Array): Generator<void, OpenedRequest> {
  const scan = scanJson(arrived, MAX_NESTING);
  if (!scan.isClosed) throw notClosed(arrived);
  if (scan.isDeepOutside) throw tooDeep();
  const count = Math.max(0, scan.bounds.length - 1);
  if (hasEmptyItem(arrived, scan))
    throw new CollectorError("malformed_json", "a message is missing at a comma");
  if (count > LIMITS.batchMessages)
    throw new CollectorError("payload_too_large", `more than ${LIMITS.batchMessages} messages`);
  const envelope = envelopeOf(arrived, scan);
  assertSmallEnvelope(envelope, scan);
  yield;

  const around = requestOf(parse(envelope), undefined);
  // The caller refuses it, if it needs a batch.
  if (!around.isBatch)
    return { ...around, body: arrived, deepItems: NONE, largeItems: NONE, bytesOf: () => arrived };
  if (around.root?.deliver !== undefined && typeof around.root.deliver !== "boolean")
    throw new CollectorError("invalid_message", "the batch's `deliver` must be true or false");
  if (unfoldedBytes(around, envelope.length, count) > MAX_UNFOLDED_BYTES)
    throw new CollectorError(
      "payload_too_large",
      "the batch's own context is too large for so many messages",
    );

  const bytesOf = (index: number): Uint8Array => arrived.subarray(...itemSpan(arrived, scan, index));
  const deepItems = new Set(scan.deepItems);
  const { items, largeItems } = yield* parseItems(count, bytesOf, deepItems);
  const unparsed = [...new Set([...deepItems, ...largeItems])].sort((a, b) => a - b);
  const body = unparsed.length === 0 ? arrived : withoutItems(arrived, scan, unparsed);
  return { items, root: around.root, isBatch: true, body, deepItems, largeItems, bytesOf };
}

function* parseItems(
  count: number,
  bytesOf: (index: number) => Uint8Array,
  deepItems: ReadonlySet<number>,
): Generator<void, Pick<OpenedRequest, "items" | "largeItems">> {
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
  return { items, largeItems };
}

const NONE: ReadonlySet<number> = new Set();

function tooDeep(): CollectorError {
  return new CollectorError("malformed_json", `nested deeper than ${MAX_NESTING} levels`);
}

/** Lets the parser say where the error is, unless parsing would take long. */
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

function assertSmallEnvelope(envelope: Uint8Array, { bounds }: JsonScan): void {
  if (envelope.length <= MAX_ENVELOPE_BYTES) return;
  let bytes = 0;
  for (const byte of envelope) if (byte > 0x20) bytes++;
  if (bytes <= MAX_ENVELOPE_BYTES) return;
  if (!isContainer(envelope)) throw new CollectorError("malformed_json", "it is not an object");
  if (bounds.length === 0) throw noBatch();
  throw new CollectorError(
    "payload_too_large",
    `the batch has more than ${MAX_ENVELOPE_BYTES} bytes besides its messages`,
  );
}

/** Whether the body is an object or an array. */
function isContainer(body: Uint8Array): boolean {
  const first = body[skipWhitespace(body, 0)];
  return first === OPEN_OBJECT || first === OPEN_ARRAY;
}

/** Thrown where a batch is expected and the body is not one. */
export function noBatch(): CollectorError {
  return new CollectorError("invalid_message", "the body must be an object with an array `batch`");
}

/** The fields that a refusal shows of a message. */
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

/** Size of the batch's context and integrations merged into each message; 0 where an upper bound shows that it is small. */
function unfoldedBytes({ root }: DecodedRequest, envelopeBytes: number, count: number): number {
  if (envelopeBytes * count <= MAX_UNFOLDED_BYTES) return 0;
  // The envelope may be large because of other fields or white space, which are not merged.
  return JSON.stringify([root?.context, root?.integrations]).length * count;
}

/** V8 quotes the client's data around the error. Keeps only the reason and the position. */
function withoutExcerpt(message: string): string {
  return message.replace(/, (?:\.\.\.)?".*$/s, "").slice(0, 120);
}
