import { decodeCall, type EncodedCall, type LoggedCall } from "./call-codec.js";

/** Begins each entry: "SLC" and the version of this format. */
const MAGIC = Uint8Array.of(0x53, 0x4c, 0x43, 1);
/** Where the version stands. */
const FORMAT_AT = 3;
const HEAD_AT = 8;
/** Arrays begin at multiples of this, so that they can be used where they are. */
const ALIGNED_TO = 8;

/** Which entry this is. No two entries have the same session and number. */
export interface EntryId {
  /** One time that one process led. Chosen at random. */
  readonly session: string;
  /** Counts the entries of a session, from 1. */
  readonly number: number;
}

/** One entry of the log: the writes of one commit. */
export interface Entry extends EntryId {
  readonly calls: readonly LoggedCall[];
}

/** A piece of an entry that is too large for the log. The last one stands for the whole. Request of the operation `part`. */
export interface Part {
  /** From 0. */
  readonly place: number;
  readonly count: number;
  readonly data: Uint8Array;
}

/** The operation of the first entry of a log whose state is being moved in from a data folder. No copy applies it; see `moveIn`. */
export const MOVE_IN = "moveIn";

/** An entry of another format. It was written by another version, or by another program. */
export class UnknownEntry extends Error {
  override readonly name = "UnknownEntry";
}

/**
 * An entry as bytes: magic and version, the length of the head, the head as JSON, then the arrays of all calls, each aligned. JSON has no
 * typed arrays, so they stand beside it and are never copied again. `roomFor`: where it is written, if not to an array of its own.
 */
export function encodeEntry(
  id: EntryId,
  calls: readonly EncodedCall[],
  roomFor: (bytes: number) => Uint8Array<ArrayBuffer> = (bytes) => new Uint8Array(bytes),
): Uint8Array<ArrayBuffer> {
  const { session, number } = id;
  const start = JSON.stringify({ session, number });
  const head = Buffer.from(`${start.slice(0, -1)},"calls":[${calls.map(({ json }) => json).join(",")}]}`);
  let length = aligned(HEAD_AT + head.byteLength);
  for (const { arrays } of calls) for (const array of arrays) length = aligned(length + array.byteLength);
  const data = roomFor(length);
  data.set(MAGIC);
  new DataView(data.buffer, data.byteOffset).setUint32(MAGIC.byteLength, head.byteLength, true);
  data.set(head, HEAD_AT);
  let at = padded(data, HEAD_AT + head.byteLength);
  for (const { arrays } of calls) {
    for (const array of arrays) {
      data.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at);
      at = padded(data, at + array.byteLength);
    }
  }
  return data;
}

/** The next aligned place, with zeros up to it. */
function padded(data: Uint8Array, at: number): number {
  const end = aligned(at);
  data.fill(0, at, end);
  return end;
}

/** Bytes that calls take in an entry, at most. */
export function entryBytes({ json, arrays }: EncodedCall): number {
  return arrays.reduce((sum, { byteLength }) => sum + byteLength + ALIGNED_TO, Buffer.byteLength(json) + 1);
}

/** Cuts a call into parts of at most so many bytes. Each goes into an entry of its own. */
export function partsOf(call: EncodedCall, most: number): Part[] {
  const whole = encodeEntry({ session: "", number: 0 }, [call]);
  const count = Math.ceil(whole.byteLength / most);
  return Array.from({ length: count }, (_, place) => ({
    place,
    count,
    data: whole.subarray(place * most, (place + 1) * most),
  }));
}

/** What an entry has besides its calls. */
export const ENTRY_OVERHEAD_BYTES = 256;

/** The arrays of the calls are views of `data`. Throws `UnknownEntry`. */
export function decodeEntry(data: Uint8Array<ArrayBuffer>): Entry {
  // Views of numbers need aligned bytes.
  const bytes = data.byteOffset % ALIGNED_TO === 0 ? data : new Uint8Array(data);
  if (!isKnown(bytes)) throw new UnknownEntry(notOurs(bytes));
  try {
    return entryIn(bytes);
  } catch (error) {
    if (error instanceof UnknownEntry) throw error;
    throw new UnknownEntry("an entry of the log is damaged", { cause: error });
  }
}

/** Throws any error if the bytes are damaged. */
function entryIn(bytes: Uint8Array<ArrayBuffer>): Entry {
  const { head, end } = headOf(bytes);
  const { session, number } = head;
  if (typeof session !== "string" || !Number.isSafeInteger(number))
    throw new TypeError("not the id of an entry");
  let at = aligned(end);
  const take = (length: number): number => {
    const from = at;
    if (from + length > bytes.byteLength) throw new RangeError("an array is longer than the entry");
    at = aligned(at + length);
    return bytes.byteOffset + from;
  };
  return { session, number, calls: head.calls.map((call) => decodeCall(call, bytes.buffer, take)) };
}

interface Head extends EntryId {
  readonly calls: readonly Parameters<typeof decodeCall>[0][];
}

const CUT_OFF = "an entry of the log is cut off";

function headOf(bytes: Uint8Array): { readonly head: Head; readonly end: number } {
  if (bytes.byteLength < HEAD_AT) throw new UnknownEntry(CUT_OFF);
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(MAGIC.byteLength, true);
  const end = HEAD_AT + length;
  if (end > bytes.byteLength) throw new UnknownEntry(CUT_OFF);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + HEAD_AT, length).toString("utf8");
  return { head: JSON.parse(text) as Head, end };
}

function isKnown(bytes: Uint8Array): boolean {
  return isOurs(bytes) && bytes[FORMAT_AT] === MAGIC[FORMAT_AT];
}

function isOurs(bytes: Uint8Array): boolean {
  return MAGIC.subarray(0, FORMAT_AT).every((byte, i) => bytes[i] === byte);
}

function notOurs(bytes: Uint8Array): string {
  return isOurs(bytes)
    ? `an entry of the log has format ${bytes[FORMAT_AT]}, and this version knows ${MAGIC[FORMAT_AT]}: update this process`
    : "the log has an entry that Sluice did not write";
}

function aligned(length: number): number {
  return Math.ceil(length / ALIGNED_TO) * ALIGNED_TO;
}
