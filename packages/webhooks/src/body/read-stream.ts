import type { Readable } from "node:stream";

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
