import { promisify } from "node:util";
import zlib from "node:zlib";
import { semaphore } from "@sluice/resilience";
import { CollectorError } from "../errors.js";

export type Encoding = "identity" | "gzip" | "deflate" | "br";

/** The one encoding a `Content-Encoding` names; undefined for several, or one we do not know. */
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

/** Bytes that a compressed body may have beyond the limit of what it unpacks to: headers, and blocks that did not shrink. */
export const COMPRESSION_OVERHEAD_BYTES = 1_024;

const gunzip = promisify(zlib.gunzip) as (body: Uint8Array, options: object) => Promise<Buffer>;
const inflateZlib = promisify(zlib.inflate) as typeof gunzip;
const inflateRaw = promisify(zlib.inflateRaw) as typeof gunzip;
const brotli = promisify(zlib.brotliDecompress) as typeof gunzip;

/**
 * Bodies that are unpacked at once, of the whole process as its threads are: each takes one of four, up to 16 MB for brotli's window,
 * and what comes out, which nobody has accounted for yet.
 */
const PLACES = 2;
/** Bodies that wait for a place, at most: the worst (100 MB of zeros in brotli) take 30 ms each. */
const MOST_WAITING = 256;
const places = semaphore(PLACES);

/** Unpacks a whole body, outside of the main thread. Ends as soon as more than `limitBytes` come out: 413. */
export async function inflate(body: Buffer, encoding: Encoding, limitBytes: number): Promise<Buffer> {
  const unpack =
    encoding === "identity"
      ? undefined
      : encoding === "br"
        ? brotli
        : encoding === "gzip"
          ? gunzip
          : hasZlibHeader(body)
            ? inflateZlib
            : inflateRaw;
  if (unpack === undefined) return body;
  if (places.waiting >= MOST_WAITING) throw new CollectorError("overloaded");
  const leave = places.tryAcquire() ?? (await places.acquire());
  try {
    return await unpack(body, { maxOutputLength: limitBytes });
  } catch (cause) {
    if ((cause as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE")
      throw new CollectorError("payload_too_large", `more than ${limitBytes} bytes when unpacked`, { cause });
    throw new CollectorError("malformed_json", `the ${encoding} data is damaged`, { cause });
  } finally {
    leave();
  }
}

/** JSON never begins with these bytes: a client that compresses but forgets to say so is understood. */
export function looksGzipped(body: Uint8Array): boolean {
  return body[0] === 0x1f && body[1] === 0x8b;
}

/** `deflate` means zlib's format, but some clients send the bare stream. */
function hasZlibHeader(body: Uint8Array): boolean {
  const [first = 0, second = 0] = body;
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;
}
