import type { IncomingMessage } from "node:http";
import { LIMITS } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { CollectorError } from "../../errors.js";
import { clientGroup } from "../../http/body/amounts-by-address.js";
import { BodyBuffer } from "../../http/body/body-buffer.js";
import { type BufferHold, bufferBudget } from "../../http/body/buffer-budget.js";

/** The largest body that is kept, so that the request can be repeated. The largest batch is half of it. */
const MAX_KEPT_BYTES = 1_024 * 1_024;

/** The memory for the bodies of requests that are passed on. */
export interface KeptBodies {
  readonly usedBytes: number;
  /** The share of one request of this client. No client can take all. */
  of(client: string): KeptBody;
}

type KeptBody = Pick<BufferHold, "take" | "release">;

export function keptBodies(maxBytes: number, clock: Clock): KeptBodies {
  const budget = bufferBudget(maxBytes, clock);
  return {
    get usedBytes() {
      return budget.usedBytes;
    },
    of(client) {
      const hold = budget.hold(clientGroup(client));
      // Only the owner knows which keys are valid.
      hold.vouch();
      return hold;
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

/** The addresses that clients send messages to, and load their settings from. */
export const INGESTION = /^\/(?:(?:beacon\/)?v1\/|sourceConfig|batch|capture|i\/v0\/e)/;

/**
 * Why the length that a request announces is too large for any owner, or undefined. The head of a streamed body reaches the owner with its
 * first bytes only, and a client may wait for the answer before it sends them.
 */
export function refusedLength({
  method,
  url = "/",
  headers,
}: Pick<IncomingMessage, "method" | "url" | "headers">): CollectorError | undefined {
  const takesMessages = method === "POST" && INGESTION.test(url);
  if (!takesMessages || !(Number(headers["content-length"]) > MAX_KEPT_BYTES)) return undefined;
  return new CollectorError("payload_too_large", `more than ${LIMITS.batchBytes} bytes`);
}

/** Reads a small body into memory. Rejects if the connection ends before the body does, or `gone` aborts. */
export async function keepBody(
  message: IncomingMessage,
  memory: KeptBody,
  gone: AbortSignal,
): Promise<PassedBody> {
  const { "content-length": length, "transfer-encoding": encoding } = message.headers;
  if (encoding === undefined && (length === undefined || length === "0")) return { kind: "none" };
  const bytesAnnounced = Number(length);
  // A body that cannot be kept is streamed from its first byte on, so there must be room for all of it before.
  if (encoding !== undefined || !(bytesAnnounced <= MAX_KEPT_BYTES) || !memory.take(bytesAnnounced))
    return { kind: "streamed" };
  try {
    const bytes = await collect(message, gone, bytesAnnounced);
    return { kind: "kept", bytes, release: () => memory.release() };
  } catch (error) {
    memory.release();
    throw error;
  }
}

function collect(message: IncomingMessage, gone: AbortSignal, announced: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const body = new BodyBuffer(announced);
    let isOver = false;
    const isCut = (): void => {
      isOver = true;
      body.take();
      reject(new Error("the connection ended before the body did"));
    };
    message.on("data", (chunk: Buffer) => {
      // Bytes after a failure are dropped.
      if (!isOver) body.add(chunk);
    });
    message.once("end", () => resolve(body.take()));
    message.once("close", isCut);
    gone.addEventListener("abort", isCut);
  });
}
