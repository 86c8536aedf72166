import { finished, type Readable } from "node:stream";

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
