import type { Readable } from "node:stream";

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
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    const onData = (chunk: Uint8Array | string): void => {
      const part = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      bytes += part.length;
      if (bytes <= maxBytes) {
        chunks.push(part);
        return;
      }
      stream.off("data", onData);
      stream.pause();
      resolve("too_large");
    };
    stream.on("data", onData);
    stream.on("end", () => resolve(Buffer.concat(chunks)));
    stream.on("error", reject);
    // No effect after `end`.
    stream.on("close", () => reject(new Error("The sender disconnected")));
  });
}
