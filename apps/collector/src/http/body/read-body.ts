import type { IncomingMessage } from "node:http";
import { KB } from "@sluice/protocol";
import { CollectorError } from "../../errors.js";
import { BodyBuffer } from "./body-buffer.js";
import type { BufferHold } from "./buffer-budget.js";
import { COMPRESSION_OVERHEAD_BYTES, inflate, looksGzipped, parseEncoding } from "./inflate.js";

/**
 * About what a request takes besides its body, until its response. Without it, thousands of tiny requests that do not wait for
 * responses would have no limit.
 */
export const REQUEST_BYTES = 4 * KB;

/** A chunk costs as much CPU as a hundred bytes. No client sends a body in so many chunks of a few bytes. */
const MOST_TINY_CHUNKS = 1_000;
const TINY_BYTES = 16;
const TINY = `the body arrives in chunks of less than ${TINY_BYTES} bytes`;

/** The body of a request, while it arrives. */
export interface BodyProgress {
  /** Its share of the memory for bodies, until the response. */
  readonly hold: BufferHold;
  /** Why the rest will not arrive. */
  error?: CollectorError;
  /** Fails the read that is under way, if there is one. */
  fail?: ((error: CollectorError) => void) | undefined;
}

/** Reads and decompresses a body; see `HttpRequest.readBody`. `progress` holds its share of the memory for bodies. */
export async function readBody(
  request: IncomingMessage,
  limitBytes: number,
  progress: BodyProgress,
): Promise<Uint8Array> {
  const encoding = parseEncoding(request.headers["content-encoding"]);
  if (encoding === undefined)
    throw new CollectorError(
      "unsupported_encoding",
      String(request.headers["content-encoding"]).slice(0, 64),
    );
  const wireLimit = encoding === "identity" ? limitBytes : limitBytes + COMPRESSION_OVERHEAD_BYTES;
  reserve(progress, REQUEST_BYTES);
  const raw = await collect(request, wireLimit, progress, "keep");
  const actual = encoding === "identity" && looksGzipped(raw) ? "gzip" : encoding;
  if (actual === "identity") return raw;
  const body = await inflate(raw, actual, limitBytes, progress.hold.isVouchedFor);
  reserve(progress, body.length);
  return body;
}

/** Reads a body to its end and drops it. Rejects like `readBody`. */
export async function dropBody(
  request: IncomingMessage,
  limitBytes: number,
  progress: BodyProgress,
): Promise<void> {
  reserve(progress, REQUEST_BYTES);
  await collect(request, limitBytes, progress, "drop");
}

function reserve({ hold }: BodyProgress, bytes: number): void {
  if (!hold.take(bytes)) throw new CollectorError("overloaded");
}

function collect(
  request: IncomingMessage,
  limitBytes: number,
  progress: BodyProgress,
  use: "keep" | "drop",
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const tooLarge = (): CollectorError =>
      new CollectorError("payload_too_large", `more than ${limitBytes} bytes`);
    if (progress.error !== undefined || request.destroyed) {
      reject(progress.error ?? new CollectorError("request_timeout", "the connection has ended"));
      return;
    }
    const announced = request.headers["content-length"];
    // Refuses early. The bytes that arrive are counted all the same.
    if (Number(announced) > limitBytes) {
      reject(tooLarge());
      return;
    }
    const body = new BodyBuffer(announced === undefined ? undefined : Number(announced));
    let bytes = 0;
    let chunks = 0;
    const stop = (): void => {
      progress.fail = undefined;
      request.off("data", onData);
      request.off("end", onEnd);
      request.off("close", onClose);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks += 1;
      try {
        if (bytes > limitBytes) throw tooLarge();
        if (chunks > MOST_TINY_CHUNKS && bytes < chunks * TINY_BYTES)
          throw new CollectorError("invalid_request", TINY);
        if (use === "drop") return;
        reserve(progress, body.growth(chunk));
        body.add(chunk);
      } catch (error) {
        fail(error);
      }
    };
    let hasEnded = false;
    const onEnd = (): void => {
      // The listeners end with the request. Removing them would take longer than anything else here.
      hasEnded = true;
      progress.fail = undefined;
      progress.hold.arrived();
      // An idle connection keeps its last request, and must not keep the body with it.
      resolve(body.take());
    };
    const fail = (error: unknown): void => {
      stop();
      body.take();
      reject(error);
    };
    const onClose = (): void => {
      if (hasEnded) return;
      fail(new CollectorError("request_timeout", "the connection ended before the body did"));
    };
    progress.fail = fail;
    request.on("data", onData);
    request.on("end", onEnd);
    request.on("close", onClose);
  });
}
