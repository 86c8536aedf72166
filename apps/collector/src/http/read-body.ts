import type { IncomingMessage } from "node:http";
import { KB } from "@sluice/protocol";
import { CollectorError } from "../errors.js";
import type { BufferBudget } from "./buffer-budget.js";
import { COMPRESSION_OVERHEAD_BYTES, inflate, looksGzipped, parseEncoding } from "./inflate.js";

/**
 * What a request takes beside its body, roughly: its objects live until it is answered. Without it, a client that sends
 * thousands of tiny requests without waiting would be bounded by nothing.
 */
export const REQUEST_BYTES = 4 * KB;

/** A request's body on its way in. */
export interface BodyProgress {
  /** What it took of the budget; to be given back when the request is answered. */
  reservedBytes: number;
  /** Why the rest is not coming. */
  error?: CollectorError;
  /** Ends the reading with that; there while somebody reads. */
  fail?: ((error: CollectorError) => void) | undefined;
}

/** The body, unpacked; see `HttpRequest.readBody`. Whatever it takes of the budget is noted in `progress` as it goes. */
export async function readBody(
  request: IncomingMessage,
  limitBytes: number,
  budget: BufferBudget,
  progress: BodyProgress,
): Promise<Uint8Array> {
  const encoding = parseEncoding(request.headers["content-encoding"]);
  if (encoding === undefined)
    throw new CollectorError(
      "unsupported_encoding",
      String(request.headers["content-encoding"]).slice(0, 64),
    );
  const wireLimit = encoding === "identity" ? limitBytes : limitBytes + COMPRESSION_OVERHEAD_BYTES;
  reserve(budget, progress, REQUEST_BYTES);
  const raw = await collect(request, wireLimit, budget, progress);
  const actual = encoding === "identity" && looksGzipped(raw) ? "gzip" : encoding;
  if (actual === "identity") return raw;
  const body = await inflate(raw, actual, limitBytes);
  reserve(budget, progress, body.length);
  return body;
}

function reserve(budget: BufferBudget, progress: BodyProgress, bytes: number): void {
  if (!budget.take(bytes)) throw new CollectorError("overloaded");
  progress.reservedBytes += bytes;
}

function collect(
  request: IncomingMessage,
  limitBytes: number,
  budget: BufferBudget,
  progress: BodyProgress,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const tooLarge = (): CollectorError =>
      new CollectorError("payload_too_large", `more than ${limitBytes} bytes`);
    if (progress.error !== undefined || request.destroyed) {
      reject(progress.error ?? new CollectorError("request_timeout", "the connection has ended"));
      return;
    }
    // Believed only to refuse early: what really arrives is counted all the same.
    if (Number(request.headers["content-length"]) > limitBytes) {
      reject(tooLarge());
      return;
    }
    const chunks: Buffer[] = [];
    let bytes = 0;
    const stop = (): void => {
      progress.fail = undefined;
      request.off("data", onData);
      request.off("end", onEnd);
      request.off("close", onClose);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      try {
        if (bytes > limitBytes) throw tooLarge();
        reserve(budget, progress, chunk.length);
      } catch (error) {
        fail(error);
        return;
      }
      chunks.push(chunk);
    };
    const onEnd = (): void => {
      stop();
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes));
    };
    const fail = (error: unknown): void => {
      stop();
      reject(error);
    };
    const onClose = (): void =>
      fail(new CollectorError("request_timeout", "the connection ended before the body did"));
    progress.fail = fail;
    request.on("data", onData);
    request.on("end", onEnd);
    request.on("close", onClose);
  });
}
