import { decodeBatch } from "../../../message/decode-batch.js";
import { CHECKSUM_BYTES, checksumOf, decodeRow, type LogRow, readChecksum } from "../../calls/log-row.js";

/** CRC-32's polynomial, lowest power first, as the checksum uses it. */
const POLYNOMIAL = 0xedb88320;

/**
 * The row as it was written if one bit of it is wrong; undefined if there is more damage. Each bit changes the CRC in its own way, so the
 * difference of the checksums names the bit. Wider damage produces some bit's difference by chance, once in four thousand rows of full
 * length. So the mended requests are parsed, too: after such damage they are hardly ever JSON.
 */
export function mendRow(row: LogRow): LogRow | undefined {
  if (row.meta.length < CHECKSUM_BYTES) return undefined;
  const meta = Uint8Array.from(row.meta);
  const body = Uint8Array.from(row.body);
  const difference = checksumOf(meta, body) ^ readChecksum(meta);
  const bit = bitOf(difference, 8 * (body.length + meta.length - CHECKSUM_BYTES));
  if (bit !== undefined) flip(body, meta.subarray(CHECKSUM_BYTES), bit);
  else if (isOneBit(difference)) new DataView(meta.buffer).setUint32(0, checksumOf(meta, body), true);
  else return undefined;
  const mended = { first: row.first, meta, body };
  return isReadable(mended) ? mended : undefined;
}

/** The bit, of `bits` in all, that changes a CRC by `difference`. */
function bitOf(difference: number, bits: number): number | undefined {
  // The difference of the last bit. Each earlier bit is one step further.
  let change = POLYNOMIAL | 0;
  for (let bit = bits - 1; bit >= 0; bit--) {
    if (change === difference) return bit;
    change = (change >>> 1) ^ (change & 1 ? POLYNOMIAL : 0);
  }
  return undefined;
}

function flip(body: Uint8Array, rest: Uint8Array, bit: number): void {
  const at = bit >>> 3;
  const [bytes, index] = at < body.length ? [body, at] : [rest, at - body.length];
  bytes[index] = (bytes[index] ?? 0) ^ (1 << (bit & 7));
}

function isOneBit(word: number): boolean {
  return word !== 0 && (word & (word - 1)) === 0;
}

function isReadable(row: LogRow): boolean {
  try {
    for (const batch of decodeRow(row)) decodeBatch({ ...batch, sourceId: "" });
    return true;
  } catch {
    return false;
  }
}
