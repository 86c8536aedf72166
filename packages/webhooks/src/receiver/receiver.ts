import type { MessageDedupe } from "../message.js";
import { parsePayloads, type WebhookPayload } from "../message.js";
import { checkSignature } from "../signature/check-signature.js";
import type { RawBody } from "../signature/signature.js";

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
}

type Verification =
  | {
      readonly kind: "verified";
      readonly messages: readonly VerifiedMessage[];
      /** The request had Standard Webhooks headers. */
      readonly isStandard: boolean;
    }
  | { readonly kind: "refused"; readonly status: Rejection["status"]; readonly reason: string };

/** Makes a receiver. Throws `TypeError` if an option is invalid. */
export function receiver(options: ReceiverOptions): Receiver {
  const resolved = resolveReceiverOptions(options);
  const inOrder = onePerId();
  /** Whether a request with valid Standard Webhooks headers has come. */
  let isSenderKnown = false;

  /** Handles messages of a request, all of them at once if `onMessages` takes them so. */
  const handle = async (messages: readonly VerifiedMessage[]): Promise<WebhookAnswer> => {
    let answer = HANDLED;
    for (const some of resolved.together ? [messages] : messages.map((one) => [one])) {
      try {
        answer = await handleSome(some);
      } catch (error) {
        contained(resolved.onError, error, some[0]?.delivery ?? UNREAD);
        // The answer does not contain the error, because it goes to another machine.
        return { status: 500, text: "the receiver failed to handle the message" };
      }
    }
    return answer;
  };
  const handleSome = async (messages: readonly VerifiedMessage[]): Promise<WebhookAnswer> => {
    const { dedupe } = resolved;
    if (dedupe !== undefined)
      return inOrder(
        messages.map(({ ids }) => ids.ofBody),
        () => handleOnce(messages, resolved, dedupe),
      );
    await callWith(messages, resolved);
    return HANDLED;
  };

  return {
    maxBodyBytes: resolved.maxBodyBytes,
    async receive(request) {
      try {
        const verification = verifyRequest(request, resolved, isSenderKnown);
        if (verification.kind === "verified") {
          isSenderKnown ||= verification.isStandard;
          return await handle(verification.messages);
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

const HANDLED: WebhookAnswer = { status: 200, text: "" };

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
  const parsed = parsePayloads(text);
  if (parsed === undefined) return refused(400, "the body is not a message");
  const ids = signedIds(check, parsed, text);
  const attempt = Number(header("x-attempt") ?? 1) || 1;
  return {
    kind: "verified",
    isStandard: check.kind === "standard",
    messages: parsed.messages.map((message, index) => {
      const own = ids[index] ?? { own: "", ofBody: "" };
      return { message, ids: own, delivery: { messageId: own.own, attempt, rawBody: text } };
    }),
  };
}

function refused(status: Rejection["status"], reason: string): Verification {
  return { kind: "refused", status, reason };
}

/** Handles the messages that `dedupe` does not know. */
async function handleOnce(
  messages: readonly VerifiedMessage[],
  resolved: ResolvedReceiverOptions,
  dedupe: MessageDedupe,
): Promise<WebhookAnswer> {
  const isNew = await Promise.all(messages.map(async ({ ids }) => !(await dedupe.has(ids.own))));
  const seen = new Set<string>();
  const unknown = messages.filter(({ ids }, index) => {
    // A batch may have a message twice.
    const isFirst = !seen.has(ids.own);
    seen.add(ids.own);
    return isFirst && isNew[index] === true;
  });
  if (unknown.length === 0) return { status: 200, text: "already handled" };
  await callWith(unknown, resolved);
  for (const { ids } of unknown) {
    await dedupe.add(ids.own);
    // Without its Standard Webhooks headers the same request would pass `X-Signature`, with the id of its body.
    if (ids.ofBody !== ids.own && resolved.policy.standardWebhooks !== "require")
      await dedupe.add(ids.ofBody);
  }
  return HANDLED;
}

async function callWith(
  messages: readonly VerifiedMessage[],
  { onMessages }: Pick<ResolvedReceiverOptions, "onMessages">,
): Promise<void> {
  await onMessages(
    messages.map(({ message }) => message),
    messages.map(({ delivery }) => delivery),
  );
}

/** Calls the application's code and swallows what it throws or rejects with. */
function contained<Args extends readonly unknown[]>(call: (...args: Args) => unknown, ...args: Args): void {
  // The executor runs synchronously, and an error in it rejects the promise.
  new Promise((resolve) => resolve(call(...args))).catch(() => {});
}

/**
 * Runs one task per id at a time. A task with several ids waits for each of them. If one fails, the next one runs all the same. An id
 * without tasks takes no memory.
 */
function onePerId(): <Result>(ids: readonly string[], task: () => Promise<Result>) => Promise<Result> {
  const running = new Map<string, Promise<unknown>>();
  const taskBefore = (ids: readonly string[]): Promise<unknown> | undefined => {
    const busy = ids.find((id) => running.has(id));
    return busy === undefined ? undefined : running.get(busy);
  };
  return async (ids, task) => {
    for (let before = taskBefore(ids); before !== undefined; before = taskBefore(ids)) {
      // Its own caller handles the error.
      await before.catch(() => {});
    }
    const result = task();
    for (const id of ids) running.set(id, result);
    try {
      return await result;
    } finally {
      for (const id of ids) running.delete(id);
    }
  };
}
