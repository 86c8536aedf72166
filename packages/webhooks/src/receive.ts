import { checkSignature, type SignedIds, signedIds } from "./check-signature.js";
import { contained } from "./contained.js";
import type { MessageDedupe } from "./message-dedupe.js";
import { onePerId } from "./one-per-id.js";
import { parsePayload, type WebhookPayload } from "./payload.js";
import type { RawBody } from "./signature.js";
import { warnNowAndThen } from "./warn-now-and-then.js";

/** What comes with a message. */
export interface Delivery {
  /**
   * The same on every attempt, and signed: `webhook-id`, or without Standard Webhooks headers the `messageId` in the body,
   * or `sha256:` and the digest of a body without one. Characters that a header cannot carry are percent-encoded.
   */
  readonly messageId: string;
  /** From 1. Not signed. */
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
   * Called with each message whose signature is valid. The request is answered 200 when it returns or resolves. When it throws, the
   * answer is 500 and the collector sends the message again later, so it may see a message twice: see `dedupe`.
   */
  readonly onMessage: (message: WebhookPayload, delivery: Delivery) => void | Promise<void>;
  /** Messages that it has are answered 200 without calling `onMessage`. It only sees signed ids. Default: none. */
  readonly dedupe?: MessageDedupe;
  /**
   * `accept`: a request with Standard Webhooks headers must pass them, five-minute window included; one without them must
   * pass `X-Signature`, which holds at any time. `require`: requests without them are refused, so that a recorded request
   * is worth nothing after five minutes. Default: `accept`.
   */
  readonly standardWebhooks?: "accept" | "require";
  /** The time, in milliseconds since the Unix epoch. Default: `Date.now`. */
  readonly now?: () => number;
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
  const { standardWebhooks = "accept", now = Date.now } = options;
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
  if (standardWebhooks !== "accept" && standardWebhooks !== "require") {
    throw new TypeError('Option `standardWebhooks` must be "accept" or "require"');
  }
  const isStandardRequired = standardWebhooks === "require";
  const policy = { secrets, isStandardRequired, now };
  const inTurn = onePerId();

  const reject = (
    status: Rejection["status"],
    reason: string,
    header: IncomingWebhook["header"],
  ): WebhookAnswer => {
    const messageId = header("x-message-id");
    contained(onRejected, { status, reason, ...(messageId ? { messageId } : {}) });
    return { status, text: reason };
  };

  const handleOnce = async (
    message: WebhookPayload,
    delivery: Delivery,
    { own, ofBody }: SignedIds,
    known: MessageDedupe,
  ): Promise<WebhookAnswer> => {
    if (await known.has(own)) return { status: 200, text: "known already" };
    await onMessage(message, delivery);
    await known.add(own);
    // Without its webhook headers the request would still pass X-Signature, and is known by its body.
    if (ofBody !== own && !isStandardRequired) await known.add(ofBody);
    return { status: 200, text: "" };
  };

  return {
    maxBodyBytes,
    async receive({ method, header, rawBody }) {
      if (method !== "POST") return reject(405, "webhooks are posted", header);
      if (rawBody === "unreadable")
        return reject(400, "the body cannot be read: has something else read it?", header);
      if (rawBody === "too_large" || rawBody.length > maxBodyBytes)
        return reject(413, `the body is over ${maxBodyBytes} bytes`, header);
      const check = checkSignature(rawBody, header, policy);
      if (check.kind === "refused") return reject(401, check.reason, header);
      const text = typeof rawBody === "string" ? rawBody : new TextDecoder().decode(rawBody);
      const message = parsePayload(text);
      if (message === undefined) return reject(400, "the body is no message", header);
      const ids = signedIds(check, message, text);
      const delivery: Delivery = {
        messageId: ids.own,
        attempt: Number(header("x-attempt") ?? 1) || 1,
        rawBody: text,
      };
      try {
        if (dedupe === undefined) {
          await onMessage(message, delivery);
          return { status: 200, text: "" };
        }
        return await inTurn(ids.ofBody, () => handleOnce(message, delivery, ids, dedupe));
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
