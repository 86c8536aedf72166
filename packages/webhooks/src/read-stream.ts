import type { Readable } from "node:stream";

/**
 * The whole body, or `too_large` as soon as it is longer than the limit. The stream is paused then, not destroyed: an
 * answer is still to go out over its connection, see `dropRest`. `unreadable`: something has read it to its end
 * already, and no event would come any more. Rejects when the sender went away.
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
    // After `end` it says nothing new.
    stream.on("close", () => reject(new Error("The sender went away")));
  });
}
