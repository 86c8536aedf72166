import { promisify } from "node:util";
import zlib from "node:zlib";
import { type Semaphore, semaphore } from "@sluice/resilience";
import { CollectorError } from "../../errors.js";

export type Encoding = "identity" | "gzip" | "deflate" | "br";

/** The encoding of a `Content-Encoding` header; undefined if it is unknown, or more than one. */
export function parseEncoding(header: string | undefined): Encoding | undefined {
  switch (header?.trim().toLowerCase()) {
    case undefined:
    case "":
    case "identity":
      return "identity";
    case "gzip":
    case "x-gzip":
      return "gzip";
    case "deflate":
      return "deflate";
    case "br":
      return "br";
    default:
      return undefined;
  }
}

/** A compressed body may exceed the limit of its contents by this much: headers, and blocks that did not shrink. */
export const COMPRESSION_OVERHEAD_BYTES = 1_024;

const gunzip = promisify(zlib.gunzip) as (body: Uint8Array, options: object) => Promise<Buffer>;
const inflateZlib = promisify(zlib.inflate) as typeof gunzip;
const inflateRaw = promisify(zlib.inflateRaw) as typeof gunzip;
const brotli = promisify(zlib.brotliDecompress) as typeof gunzip;

/**
 * Bounds on decompression. zlib runs in the four threads of the process, so these are shared by all collectors in it. `maxWaiting` is
 * about as many bodies as take a second at worst.
 */
interface Lane {
  readonly places: Semaphore;
  readonly maxWaiting: number;
}

/** At worst 1.1 ms each; a tenth of that ordinarily. */
const DEFLATE: Lane = { places: semaphore(2), maxWaiting: 2_048 };
/** At worst 30 ms and a window of 16 MB each, out of 93 bytes. A lane of their own keeps them from holding up others. */
const BROTLI: Lane = { places: semaphore(1), maxWaiting: 32 };
/** Bodies of requests without a valid key yet, in any encoding. */
const UNAUTHENTICATED: Lane = { places: semaphore(1), maxWaiting: 64 };

/** Decompresses a body outside of the main thread. Stops as soon as the result exceeds `limitBytes`, with 413. */
export async function inflate(
  body: Buffer,
  encoding: Encoding,
  limitBytes: number,
  isVouchedFor: boolean,
): Promise<Buffer> {
  if (encoding === "identity") return body;
  const { places, maxWaiting } = laneOf(encoding, isVouchedFor);
  if (places.waiting >= maxWaiting) throw new CollectorError("overloaded");
  const leave = places.tryAcquire() ?? (await places.acquire());
  try {
    return await decoderOf(encoding, body)(body, { maxOutputLength: limitBytes });
  } catch (cause) {
    if ((cause as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE")
      throw new CollectorError("payload_too_large", `more than ${limitBytes} bytes when decompressed`, {
        cause,
      });
    throw new CollectorError("malformed_json", `the ${encoding} data is damaged`, { cause });
  } finally {
    leave();
  }
}

type Compression = Exclude<Encoding, "identity">;

function laneOf(encoding: Compression, isVouchedFor: boolean): Lane {
  if (!isVouchedFor) return UNAUTHENTICATED;
  return encoding === "br" ? BROTLI : DEFLATE;
}

function decoderOf(encoding: Compression, body: Buffer): typeof gunzip {
  switch (encoding) {
    case "br":
      return brotli;
    case "gzip":
      return gunzip;
    case "deflate":
      return hasZlibHeader(body) ? inflateZlib : inflateRaw;
  }
}

/** JSON never starts with these bytes, so a client may omit the header. */
export function looksGzipped(body: Uint8Array): boolean {
  return body[0] === 0x1f && body[1] === 0x8b;
}

/** `deflate` means zlib's format, but some clients send the raw stream. */
function hasZlibHeader(body: Uint8Array): boolean {
  const [first = 0, second = 0] = body;
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;
}
