import { fstatSync, readSync } from "node:fs";
import { decodeHeader, FRAME_BYTES, type Frame, type Header, SALT_BYTES } from "./frame.js";

/** A place of the log that cannot be read, although later entries can. */
export interface DamagedPlace {
  readonly at: number;
  /** Where the next entry is that can be read, and its sequence. */
  readonly end: number;
  readonly next: number;
  /** What the header of the entry there says, if it can be read, and what follows it. */
  readonly header: Header | undefined;
  readonly data: Uint8Array<ArrayBuffer>;
}

export type Found =
  | { readonly kind: "entry"; readonly at: number; readonly end: number; readonly frame: Frame }
  | ({ readonly kind: "damaged" } & DamagedPlace)
  /** An entry that was not written completely. */
  | { readonly kind: "cut"; readonly sequence: number; readonly end: number };

const PIECE_BYTES = 1024 * 1024;

/**
 * The entries of a file from a place on, in order. The file is used again from its beginning after each checkpoint, so older entries may
 * follow the last one; their sequences are lower. An entry that was not written completely is not in the log: nothing was answered that
 * depends on it, and nothing follows it. So what cannot be read is damage only if a later entry can be read.
 */
export function* readFrames(file: number, salt: Uint8Array, from: number, after: number): Generator<Found> {
  const size = fstatSync(file).size;
  let last: number | undefined;
  for (let at = from; at < size; ) {
    const frame = frameAt(file, salt, at, size);
    if (frame !== undefined && (last === undefined || frame.sequence === last + 1)) {
      const end = at + FRAME_BYTES + frame.data.byteLength;
      yield { kind: "entry", at, end, frame };
      last = frame.sequence;
      at = end;
      continue;
    }
    const known = Math.max(after, last ?? 0);
    const next = laterFrame(file, salt, at + 1, size, known);
    const header = decodeHeader(salt, readAt(file, at, FRAME_BYTES));
    if (next === undefined) {
      if (header !== undefined && header.sequence > known)
        yield { kind: "cut", sequence: header.sequence, end: at };
      return;
    }
    const data = readAt(file, at + FRAME_BYTES, Math.max(0, next.at - at - FRAME_BYTES));
    yield { kind: "damaged", at, end: next.at, next: next.sequence, header, data: plain(data) };
    last = next.sequence - 1;
    at = next.at;
  }
}

/** The entry at a place, if there is one that can be read. */
export function frameAt(file: number, salt: Uint8Array, at: number, size: number): Frame | undefined {
  const header = decodeHeader(salt, readAt(file, at, FRAME_BYTES));
  if (header === undefined || at + FRAME_BYTES + header.dataBytes > size) return undefined;
  const data = readAt(file, at + FRAME_BYTES, header.dataBytes);
  if (!header.matches(data)) return undefined;
  const { sequence, atMs, nextOffset } = header;
  return { sequence, atMs, nextOffset, data: plain(data) };
}

/** The next entry from a place on whose sequence is higher than `than`. */
function laterFrame(
  file: number,
  salt: Uint8Array,
  from: number,
  size: number,
  than: number,
): { readonly at: number; readonly sequence: number } | undefined {
  for (let start = from; start < size; start += PIECE_BYTES) {
    const piece = readAt(file, start, PIECE_BYTES + SALT_BYTES - 1);
    for (let found = piece.indexOf(salt); found >= 0; found = piece.indexOf(salt, found + 1)) {
      const at = start + found;
      const header = decodeHeader(salt, readAt(file, at, FRAME_BYTES));
      if (header !== undefined && header.sequence > than && frameAt(file, salt, at, size) !== undefined)
        return { at, sequence: header.sequence };
    }
  }
  return undefined;
}

/** A Node.js `Buffer` has a `slice` that does not copy. */
function plain(bytes: Buffer<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Up to `bytes` bytes from a place of a file; fewer at its end. In a buffer of their own. */
export function readAt(file: number, at: number, bytes: number): Buffer<ArrayBuffer> {
  const read = Buffer.allocUnsafeSlow(bytes);
  let got = 0;
  while (got < bytes) {
    const more = readSync(file, read, got, bytes - got, at + got);
    if (more === 0) break;
    got += more;
  }
  return read.subarray(0, got);
}
