import { crc32 } from "node:zlib";

/** What stands before the data of an entry. */
export interface Frame {
  readonly sequence: number;
  /** About when it was written; 0 if that is not known. */
  readonly atMs: number;
  /** The offset of the next message before the entry was applied. */
  readonly nextOffset: number;
  readonly data: Uint8Array<ArrayBuffer>;
}

/** Salt, length, checksum, sequence, time, next offset. */
export const FRAME_BYTES = 40;
/** Bytes of the salt. It is random and secret: nobody can send a message that looks like a frame. */
export const SALT_BYTES = 8;
const LENGTH_AT = 8;
const CHECKSUM_AT = 12;
const SEQUENCE_AT = 16;
const TIME_AT = 24;
const OFFSET_AT = 32;

/** The header of a frame. Its checksum covers the salt, what follows it in the header, and the data. */
export function encodeHeader(salt: Uint8Array, { sequence, atMs, nextOffset, data }: Frame): Buffer {
  const header = Buffer.alloc(FRAME_BYTES);
  header.set(salt);
  header.writeUInt32LE(data.byteLength, LENGTH_AT);
  header.writeDoubleLE(sequence, SEQUENCE_AT);
  header.writeDoubleLE(atMs, TIME_AT);
  header.writeDoubleLE(nextOffset, OFFSET_AT);
  header.writeUInt32LE(checksumOf(header, data), CHECKSUM_AT);
  return header;
}

export interface Header extends Omit<Frame, "data"> {
  readonly dataBytes: number;
  /** Whether data and header are as they were written. */
  matches(data: Uint8Array): boolean;
}

/** Undefined if there is no header of this log. */
export function decodeHeader(salt: Uint8Array, bytes: Buffer): Header | undefined {
  if (bytes.byteLength < FRAME_BYTES || !bytes.subarray(0, SALT_BYTES).equals(salt)) return undefined;
  const sequence = bytes.readDoubleLE(SEQUENCE_AT);
  const dataBytes = bytes.readUInt32LE(LENGTH_AT);
  return {
    sequence,
    atMs: bytes.readDoubleLE(TIME_AT),
    nextOffset: bytes.readDoubleLE(OFFSET_AT),
    dataBytes,
    matches: (data) => checksumOf(bytes, data) === bytes.readUInt32LE(CHECKSUM_AT),
  };
}

function checksumOf(header: Buffer, data: Uint8Array): number {
  const ofSalt = crc32(header.subarray(0, SALT_BYTES));
  return crc32(data, crc32(header.subarray(SEQUENCE_AT, FRAME_BYTES), ofSalt));
}
