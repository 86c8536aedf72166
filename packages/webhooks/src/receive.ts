import { contained } from "./contained.js";
import type { MessageDedupe } from "./message-dedupe.js";
import { parsePayload, type WebhookPayload } from "./payload.js";
import { type RawBody, verify } from "./signature.js";
import { warnNowAndThen } from "./warn-now-and-then.js";

/** What comes with a message. */
export interface Delivery {
  /** The same on every attempt: what duplicates are known by. */
  readonly messageId: string;
  /** From 1. */
  readonly attempt: number;
  /** The body as it came. */
  readonly rawBody: string;
}

export interface ReceiverOptions {
  /**
   * The destination's shared secret; two during a rotation. An environment variable may be given as it is: where it is
   * not set, making the receiver throws.
   */
  readonly secret: string | readonly string[] | undefined;
  /**
   * Called with each verified message. The request is answered 200 when it returns or resolves. When it throws, the
   * answer is 500 and the collector sends the message again later, so it may see a message twice: see `dedupe`.
   */
  readonly onMessage: (message: WebhookPayload, delivery: Delivery) => void | Promise<void>;
  /** Messages that it has are answered 200 without calling `onMessage`. Default: none. */
  readonly dedupe?: MessageDedupe;
  /** Longer bodies are answered 413, in bytes. Default: 1_048_576. */
  readonly maxBodyBytes?: number;
  /** Gets what `onMessage` threw. Default: `console.error`. */
  readonly onError?: (error: unknown, delivery: Delivery) => void;
  /**
   * Told of each request that is refused before `onMessage` sees it: a wrong secret, most often. Default: one line by
   * `console.warn`, at most one a minute, with how many there were since the last.
   */
  readonly onRejected?: (rejection: Rejection) => void;
}

/** A request that was refused. */
export interface Rejection {
  readonly status: 400 | 401 | 405 | 413;
  /** What the sender was answered. */
  readonly reason: string;
  /** As the request says; nothing of a refused request can be trusted. */
  readonly messageId?: string;
}

export interface Receiver {
  readonly maxBodyBytes: number;
  /** Decides about one request. Never rejects. */
  receive(request: IncomingWebhook): Promise<WebhookAnswer>;
}

/** The body; `too_large` when there was more of it than is read, `unreadable` when there is nothing left to read. */
export type ReadBody = RawBody | "too_large" | "unreadable";

/** A request, whatever framework it came through. */
export interface IncomingWebhook {
  readonly method: string;
  readonly header: (name: string) => string | null | undefined;
  readonly rawBody: ReadBody;
}

export interface WebhookAnswer {
  readonly status: 200 | 400 | 401 | 405 | 413 | 500;
  /** Sent as text: the collector keeps it with the attempt, so it says what is wrong. */
  readonly text: string;
}

/** Checks the options once; every adapter goes through the receiver that this makes. */
export function receiver(options: ReceiverOptions): Receiver {
  const { secret, onMessage, dedupe, maxBodyBytes = 1_048_576, onError = logError } = options;
  const onRejected = options.onRejected ?? warnNowAndThen();
  const secrets = typeof secret === "string" ? [secret] : secret;
  if (
    !Array.isArray(secrets) ||
    secrets.length === 0 ||
    secrets.some((one) => typeof one !== "string" || one === "")
  ) {
    throw new TypeError(
      "Option `secret` must be the destination's shared secret, or a list of two: not empty",
    );
  }
  if (typeof onMessage !== "function") throw new TypeError("Option `onMessage` must be a function");

  const reject = (
    status: Rejection["status"],
    reason: string,
    header: IncomingWebhook["header"],
  ): WebhookAnswer => {
    const messageId = header("x-message-id");
    contained(onRejected, { status, reason, ...(messageId ? { messageId } : {}) });
    return { status, text: reason };
  };

  return {
    maxBodyBytes,
    async receive({ method, header, rawBody }) {
      if (method !== "POST") return reject(405, "webhooks are posted", header);
      if (rawBody === "unreadable")
        return reject(400, "the body cannot be read: has something else read it?", header);
      if (rawBody === "too_large" || rawBody.length > maxBodyBytes)
        return reject(413, `the body is over ${maxBodyBytes} bytes`, header);
      const signature = header("x-signature");
      if (signature === null || signature === undefined || signature === "") {
        return reject(401, "no X-Signature: has the destination a shared secret?", header);
      }
      if (!verify(rawBody, signature, secrets)) {
        return reject(401, "X-Signature does not match: have both sides the same secret?", header);
      }
      const text = typeof rawBody === "string" ? rawBody : new TextDecoder().decode(rawBody);
      const message = parsePayload(text);
      if (message === undefined) return reject(400, "the body is no message", header);
      const delivery: Delivery = {
        messageId: header("x-message-id") ?? "",
        attempt: Number(header("x-attempt") ?? 1) || 1,
        rawBody: text,
      };
      try {
        if (delivery.messageId !== "" && (await dedupe?.has(delivery.messageId)) === true) {
          return { status: 200, text: "known already" };
        }
        await onMessage(message, delivery);
        if (delivery.messageId !== "") await dedupe?.add(delivery.messageId);
        return { status: 200, text: "" };
      } catch (error) {
        contained(onError, error, delivery);
        // What it threw stays here: the answer goes to another machine.
        return { status: 500, text: "the receiver failed to handle the message" };
      }
    },
  };
}

function logError(error: unknown, { messageId }: Delivery): void {
  console.error(`Webhook message ${messageId} could not be handled:`, error);
}
