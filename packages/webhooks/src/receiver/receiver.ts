import type { MessageDedupe } from "../message/message-dedupe.js";
import { parsePayload, type WebhookPayload } from "../message/payload.js";
import { checkSignature } from "../signature/check-signature.js";
import type { RawBody } from "../signature/signature.js";
import { contained } from "./contained.js";
import { onePerId } from "./one-per-id.js";
import {
  type Delivery,
  type ReceiverOptions,
  type Rejection,
  type ResolvedReceiverOptions,
  resolveReceiverOptions,
} from "./receiver-options.js";
import { type SignedIds, signedIds } from "./signed-ids.js";

/** A body. `too_large`: it is over the limit. `unreadable`: something else has already read it. */
export type ReadBody = RawBody | "too_large" | "unreadable";

/** A request, independent of the framework. */
export interface IncomingWebhook {
  readonly method: string;
  readonly header: (name: string) => string | null | undefined;
  readonly rawBody: ReadBody;
}

export interface WebhookAnswer {
  readonly status: 200 | 400 | 401 | 405 | 413 | 500;
  /** The body of the answer. The collector keeps it with the attempt, so it says what is wrong. */
  readonly text: string;
}

/** Answers requests. All adapters use it. */
export interface Receiver {
  readonly maxBodyBytes: number;
  /** Never rejects. */
  receive(request: IncomingWebhook): Promise<WebhookAnswer>;
}

/** A message whose signature is valid. */
interface VerifiedMessage {
  readonly message: WebhookPayload;
  readonly ids: SignedIds;
  readonly delivery: Delivery;
  /** It had Standard Webhooks headers. */
  readonly isStandard: boolean;
}

type Verification =
  | ({ readonly kind: "verified" } & VerifiedMessage)
  | { readonly kind: "refused"; readonly status: Rejection["status"]; readonly reason: string };

/** Makes a receiver. Throws `TypeError` if an option is invalid. */
export function receiver(options: ReceiverOptions): Receiver {
  const resolved = resolveReceiverOptions(options);
  const inOrder = onePerId();
  /** Whether a request with valid Standard Webhooks headers has come. */
  let isSenderKnown = false;

  const handle = async (verified: VerifiedMessage): Promise<WebhookAnswer> => {
    const { dedupe, onMessage, onError, policy } = resolved;
    const { message, delivery, ids } = verified;
    try {
      if (dedupe !== undefined)
        return await inOrder(ids.ofBody, () =>
          handleOnce(verified, onMessage, dedupe, policy.standardWebhooks === "require"),
        );
      await onMessage(message, delivery);
      return { status: 200, text: "" };
    } catch (error) {
      contained(onError, error, delivery);
      // The answer does not contain the error, because it goes to another machine.
      return { status: 500, text: "the receiver failed to handle the message" };
    }
  };

  return {
    maxBodyBytes: resolved.maxBodyBytes,
    async receive(request) {
      try {
        const verification = verifyRequest(request, resolved, isSenderKnown);
        if (verification.kind === "verified") {
          isSenderKnown ||= verification.isStandard;
          return await handle(verification);
        }
        const { status, reason } = verification;
        const messageId = request.header("x-message-id");
        contained(resolved.onRejected, { status, reason, ...(messageId ? { messageId } : {}) });
        return { status, text: reason };
      } catch (error) {
        // The application's `now` or its framework's request threw.
        contained(resolved.onError, error, UNREAD);
        return { status: 500, text: "the receiver failed to check the request" };
      }
    },
  };
}

/** What `onError` gets when a request could not be checked. */
const UNREAD: Delivery = { messageId: "", attempt: 1, rawBody: "" };

/** Checks a request before `onMessage` sees it. */
function verifyRequest(
  { method, header, rawBody }: IncomingWebhook,
  { maxBodyBytes, policy }: ResolvedReceiverOptions,
  isSenderKnown: boolean,
): Verification {
  if (method !== "POST") return refused(405, "the method must be POST");
  if (rawBody === "unreadable")
    return refused(400, "the body cannot be read: does something else read it before?");
  if (rawBody === "too_large" || rawBody.length > maxBodyBytes)
    return refused(413, `the body is over ${maxBodyBytes} bytes`);
  const check = checkSignature(rawBody, header, policy, isSenderKnown);
  if (check.kind === "refused") return refused(401, check.reason);
  const text = typeof rawBody === "string" ? rawBody : new TextDecoder().decode(rawBody);
  const message = parsePayload(text);
  if (message === undefined) return refused(400, "the body is not a message");
  const ids = signedIds(check, message, text);
  const attempt = Number(header("x-attempt") ?? 1) || 1;
  const delivery = { messageId: ids.own, attempt, rawBody: text };
  return { kind: "verified", message, ids, delivery, isStandard: check.kind === "standard" };
}

function refused(status: Rejection["status"], reason: string): Verification {
  return { kind: "refused", status, reason };
}

/** Handles a message unless `dedupe` knows it. */
async function handleOnce(
  { message, delivery, ids: { own, ofBody } }: VerifiedMessage,
  onMessage: ReceiverOptions["onMessage"],
  dedupe: MessageDedupe,
  isStandardRequired: boolean,
): Promise<WebhookAnswer> {
  if (await dedupe.has(own)) return { status: 200, text: "already handled" };
  await onMessage(message, delivery);
  await dedupe.add(own);
  // Without its Standard Webhooks headers the same request would pass `X-Signature`, with the id of its body.
  if (ofBody !== own && !isStandardRequired) await dedupe.add(ofBody);
  return { status: 200, text: "" };
}
