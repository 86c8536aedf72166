import type { MessageDedupe, WebhookPayload } from "../message.js";
import type { SignaturePolicy } from "../signature/check-signature.js";

const WARN_EVERY_MS = 60_000;

/**
 * Returns a function that warns of refused requests, so that a wrong secret shows up in the receiver's log. It warns at most once a minute,
 * so that a sender of many wrong requests does not fill the log.
 */
export function rejectionWarnings(
  warn: (line: string) => void = console.warn,
  now: () => number = Date.now,
): (rejection: { readonly status: number; readonly reason: string }) => void {
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  let silent = 0;
  return ({ status, reason }) => {
    const sinceMs = now() - warnedAtMs;
    if (sinceMs >= 0 && sinceMs < WARN_EVERY_MS) {
      silent += 1;
      return;
    }
    const others = silent === 0 ? "" : ` (${silent} more since the last warning)`;
    warn(`Webhook request refused, ${status}: ${reason}${others}`);
    warnedAtMs = now();
    silent = 0;
  };
}

/** How a message came: the second argument of `onMessage`. */
export interface Delivery {
  /**
   * The same on every attempt, and signed: `webhook-id`. For a message of a batch, and for a request without Standard Webhooks headers, it
   * is the `messageId` in the body, or `sha256:` and the digest of a body without one. Characters that a header cannot carry are percent-encoded.
   */
  readonly messageId: string;
  /** From 1. Not signed. */
  readonly attempt: number;
  /** The body as it arrived. */
  readonly rawBody: string;
}

/** A request that was refused. */
export interface Rejection {
  readonly status: 400 | 401 | 405 | 413;
  /** The text of the answer. */
  readonly reason: string;
  /** As the request says. Do not trust it: the request was not verified. */
  readonly messageId?: string;
}

interface CommonOptions {
  /**
   * The destination's shared secret, or two of them during a rotation. You can pass an environment variable: if it is not set, creating the
   * receiver throws.
   */
  readonly secret: string | readonly string[] | undefined;
  /** Messages that it knows are answered with 200, without being handled again. It gets only signed ids. Default: none. */
  readonly dedupe?: MessageDedupe | undefined;
  /**
   * A request with Standard Webhooks headers must always pass them, including the five-minute window. This is about those without, whose
   * `X-Signature` is valid at any time, so that a recorded request can be sent again with these headers removed. `auto`: they are accepted
   * until the first request with the headers has been verified, because from then on the sender is known to send them. `require`: they are
   * refused. `accept`: they are accepted, for senders of which only some send the headers. Default: `auto`.
   */
  readonly standardWebhooks?: "auto" | "accept" | "require" | undefined;
  /** The time, in milliseconds since the Unix epoch. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** The longest body, in bytes. Longer ones are answered with 413. Default: 1_048_576. */
  readonly maxBodyBytes?: number | undefined;
  /**
   * Called with what `onMessage` threw. If the request could not even be checked, the delivery's `messageId` is empty. Default:
   * `console.error`.
   */
  readonly onError?: ((error: unknown, delivery: Delivery) => void) | undefined;
  /**
   * Called for each request that is refused before `onMessage`, most often because of a wrong secret. Default: `console.warn`, at most once
   * a minute, with the number of requests refused since the last warning.
   */
  readonly onRejected?: ((rejection: Rejection) => void) | undefined;
}

interface HandlesEach {
  /**
   * Called with each message whose signature is valid, with those of a batch one after the other. When it returns or resolves, the answer
   * is 200. When it throws, the answer is 500 and the collector sends the request again later. So be idempotent, or use `dedupe`.
   */
  readonly onMessage: (message: WebhookPayload, delivery: Delivery) => void | Promise<void>;
  readonly onMessages?: undefined;
}

interface HandlesTogether {
  /** In place of `onMessage`: called once for a request, with all its messages that `dedupe` does not know, and how each of them came. */
  readonly onMessages: (
    messages: readonly WebhookPayload[],
    deliveries: readonly Delivery[],
  ) => void | Promise<void>;
  readonly onMessage?: undefined;
}

export type ReceiverOptions = CommonOptions & (HandlesEach | HandlesTogether);

/** Options as the receiver reads them: checked and complete. */
export interface ResolvedReceiverOptions {
  readonly policy: SignaturePolicy;
  readonly onMessages: HandlesTogether["onMessages"];
  /** `onMessages` may get several messages. */
  readonly together: boolean;
  readonly dedupe: MessageDedupe | undefined;
  readonly maxBodyBytes: number;
  readonly onError: NonNullable<CommonOptions["onError"]>;
  readonly onRejected: NonNullable<CommonOptions["onRejected"]>;
}

/** Checks the options and fills in the defaults. Throws `TypeError`. */
export function resolveReceiverOptions(options: ReceiverOptions): ResolvedReceiverOptions {
  const { secret, dedupe, maxBodyBytes = 1_048_576, onError = logError } = options;
  const { standardWebhooks = "auto", now = Date.now, onRejected = rejectionWarnings() } = options;
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
  if (!["auto", "accept", "require"].includes(standardWebhooks)) {
    throw new TypeError('Option `standardWebhooks` must be "auto", "accept" or "require"');
  }
  const policy = { secrets, standardWebhooks, now };
  return { policy, ...handlerOf(options), dedupe, maxBodyBytes, onError, onRejected };
}

function handlerOf({
  onMessage,
  onMessages,
}: ReceiverOptions): Pick<ResolvedReceiverOptions, "onMessages" | "together"> {
  if (typeof onMessages === "function" && onMessage === undefined) return { onMessages, together: true };
  if (typeof onMessage !== "function" || onMessages !== undefined)
    throw new TypeError("Option `onMessage` must be a function, or `onMessages` in its place");
  return {
    together: false,
    async onMessages([message], [delivery]) {
      if (message !== undefined && delivery !== undefined) await onMessage(message, delivery);
    },
  };
}

function logError(error: unknown, { messageId }: Delivery): void {
  console.error(`Webhook message ${messageId} could not be handled:`, error);
}
