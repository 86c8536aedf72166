import { promisify } from "node:util";
import zlib from "node:zlib";
import { type Semaphore, semaphore } from "@sluice/resilience";
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
 * How many bodies are unpacked at once, of the whole process as its threads are, and how many wait at most: about as many as take a second at
 * their worst. Each takes one of four threads, and what comes out is accounted for only then.
 */
interface Lane {
  readonly places: Semaphore;
  readonly mostWaiting: number;
}

/** At worst 1.1 ms each; ordinary ones take a tenth of that. */
const DEFLATED: Lane = { places: semaphore(2), mostWaiting: 2_048 };
/** At worst 30 ms and 16 MB each, for its window, out of 93 bytes: they hold up no others. */
const BROTLI: Lane = { places: semaphore(1), mostWaiting: 32 };

/** Bodies of requests that have not shown a good key, in whichever encoding: they hold up no others either. */
const KEYLESS: Lane = { places: semaphore(1), mostWaiting: 64 };

/** Unpacks a whole body, outside of the main thread. Ends as soon as more than `limitBytes` come out: 413. */
export async function inflate(
  body: Buffer,
  encoding: Encoding,
  limitBytes: number,
  isVouchedFor: boolean,
): Promise<Buffer> {
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
  const { places, mostWaiting } = !isVouchedFor ? KEYLESS : encoding === "br" ? BROTLI : DEFLATED;
  if (places.waiting >= mostWaiting) throw new CollectorError("overloaded");
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
