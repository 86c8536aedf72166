import { finished, type Readable } from "node:stream";

/** Bytes of a refused body that are read and dropped, at most. */
const MOST_DROPPED_BYTES = 16 * 1_024 * 1_024;
/** How long the rest of a refused body may take to come, in milliseconds. */
const DROP_TIMEOUT_MS = 5_000;

/**
 * Reads what is left of a body and drops it. Resolves at its end, when the sender has gone, after 16 MB or after 5 s. A connection that
 * is closed while its sender still writes is reset, and the sender loses an answer that it has not read yet.
 */
export function dropRest(stream: Readable): Promise<void> {
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
