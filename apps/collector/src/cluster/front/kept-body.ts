import type { IncomingMessage } from "node:http";
import { LIMITS } from "@sluice/protocol";
import { CollectorError } from "../../errors.js";

/** The largest body that is kept, so that the request can be repeated. The largest batch is half of it. */
const MAX_KEPT_BYTES = 1_024 * 1_024;

/** The memory for the bodies of requests that are passed on. */
export interface KeptBodies {
  readonly usedBytes: number;
  /** Takes `bytes`; returns false if there is no room. */
  take(bytes: number): boolean;
  release(bytes: number): void;
}

export function keptBodies(maxBytes: number): KeptBodies {
  let usedBytes = 0;
  return {
    get usedBytes() {
      return usedBytes;
    },
    take(bytes) {
      if (usedBytes + bytes > maxBytes) return false;
      usedBytes += bytes;
      return true;
    },
    release(bytes) {
      usedBytes -= bytes;
    },
  };
}

/** The body of a request that is passed on. */
export type PassedBody =
  | { readonly kind: "none" }
  /** All of it is in memory. */
  | { readonly kind: "kept"; readonly bytes: Uint8Array; release(): void }
  /** It is passed on as it arrives, once: it is large or of unknown length, or the memory for bodies is full. */
  | { readonly kind: "streamed" };

/**
 * Why the length that a request announces is too large for any owner, or undefined. The head of a streamed body reaches the owner with its
 * first bytes only, and a client may wait for the answer before it sends them.
 */
export function refusedLength({
  method,
  url = "/",
  headers,
}: Pick<IncomingMessage, "method" | "url" | "headers">): CollectorError | undefined {
  const takesMessages = method === "POST" && /^\/(?:beacon\/)?v1\//.test(url);
  if (!takesMessages || !(Number(headers["content-length"]) > MAX_KEPT_BYTES)) return undefined;
  return new CollectorError("payload_too_large", `more than ${LIMITS.batchBytes} bytes`);
}

/**
 * Reads a small body into memory. Rejects if the connection ends before the body does, or `gone` aborts. With `isNeeded`, no body is
 * streamed: it rejects with a `CollectorError` if there is no room.
 */
export async function keepBody(
  message: IncomingMessage,
  memory: KeptBodies,
  gone: AbortSignal,
  isNeeded = false,
): Promise<PassedBody> {
  const { "content-length": length, "transfer-encoding": encoding } = message.headers;
  if (encoding === undefined && (length === undefined || length === "0")) return { kind: "none" };
  // Of a body of unknown length, the largest is taken.
  const bytes = encoding === undefined ? Number(length) : MAX_KEPT_BYTES;
  if (isNeeded && !(bytes <= MAX_KEPT_BYTES)) throw new CollectorError("payload_too_large");
  if ((encoding !== undefined && !isNeeded) || !(bytes <= MAX_KEPT_BYTES) || !memory.take(bytes)) {
    if (isNeeded) throw new CollectorError("overloaded");
    return { kind: "streamed" };
  }
  let isHeld = true;
  const release = (): void => {
    if (isHeld) memory.release(bytes);
    isHeld = false;
  };
  try {
    return { kind: "kept", bytes: await collect(message, MAX_KEPT_BYTES, gone), release };
  } catch (error) {
    release();
    throw error;
  }
}

function collect(message: IncomingMessage, maxBytes: number, gone: AbortSignal): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const isCut = (): void => reject(new Error("the connection ended before the body did"));
    const chunks: Buffer[] = [];
    let length = 0;
    message.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) chunks.push(chunk);
      else reject(new CollectorError("payload_too_large"));
    });
    message.once("end", () => resolve(Buffer.concat(chunks)));
    message.once("close", isCut);
    gone.addEventListener("abort", isCut);
  });
}
