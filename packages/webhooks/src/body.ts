import { finished, type Readable } from "node:stream";
import type { RawBody } from "./signature/signature.js";

/** The most bytes of a refused body that are read and dropped. */
const MOST_DROPPED_BYTES = 16 * 1_024 * 1_024;
/** How long reading the rest of a refused body may take, in milliseconds. */
const DROP_TIMEOUT_MS = 5_000;

/**
 * Reads the rest of a body and drops it. Resolves at its end, when the sender has disconnected, after 16 MB, or after 5 s. Closing a
 * connection while its sender still writes resets it, and the sender loses an answer that it has not read yet.
 */
export function dropRemainingBody(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    let droppedBytes = 0;
    const stop = (): void => {
      unwatch();
      stream.off("data", count);
      stream.pause();
      resolve();
    };
    const count = (chunk: Uint8Array | string): void => {
      droppedBytes += chunk.length;
      if (droppedBytes > MOST_DROPPED_BYTES) stop();
    };
    const signal = AbortSignal.timeout(DROP_TIMEOUT_MS);
    const unwatch = finished(stream, { writable: false, signal }, stop);
    stream.on("data", count);
    stream.resume();
  });
}

/**
 * The raw body of a request whose framework has already read it: the bytes of a raw-body hook, a body that was read as bytes or text, or the
 * parsed JSON serialized again. The collector serializes bodies like `JSON.stringify`, so the signature also matches then, except for
 * bodies with integers beyond 2^53. Undefined if nothing has read the body yet.
 */
export function rawBodyOf(request: { body?: unknown; rawBody?: unknown }): RawBody | undefined {
  for (const candidate of [request.rawBody, request.body]) {
    if (typeof candidate === "string" || candidate instanceof Uint8Array) return candidate;
  }
  return typeof request.body === "object" && request.body !== null ? JSON.stringify(request.body) : undefined;
}

const FIRST_BYTES = 4_096;

/**
 * Reads the whole body. Resolves with `too_large` as soon as it is over the limit; the stream is then paused, not destroyed, because the
 * answer goes out over the same connection (see `dropRemainingBody`). Resolves with `unreadable` if something else has already read the
 * stream to its end. Rejects if the sender disconnects.
 */
export async function readStream(
  stream: Readable,
  maxBytes: number,
): Promise<Uint8Array | "too_large" | "unreadable"> {
  if (stream.readableEnded) return "unreadable";
  return new Promise((resolve, reject) => {
    // One buffer that grows: a chunk of one byte would cost a hundred bytes as an object of its own.
    let body: Buffer = Buffer.alloc(0);
    let bytes = 0;
    const onData = (chunk: Uint8Array | string): void => {
      const part = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      const end = bytes + part.length;
      if (end <= maxBytes) {
        if (end > body.length)
          body = grown(body, bytes, Math.min(maxBytes, Math.max(end, FIRST_BYTES, 2 * bytes)));
        body.set(part, bytes);
        bytes = end;
        return;
      }
      body = Buffer.alloc(0);
      stream.off("data", onData);
      stream.pause();
      resolve("too_large");
    };
    stream.on("data", onData);
    stream.on("end", () => resolve(body.subarray(0, bytes)));
    stream.on("error", reject);
    // No effect after `end`.
    stream.on("close", () => reject(new Error("The sender disconnected")));
  });
}

function grown(buffer: Buffer, usedBytes: number, size: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(size);
  buffer.copy(larger, 0, 0, usedBytes);
  return larger;
}
