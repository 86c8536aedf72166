import type { IncomingMessage, ServerResponse } from "node:http";
import { ATTEMPT_HEADER, MESSAGE_ID_HEADER } from "@sluice/protocol";
import { definedFields } from "../../arguments.js";

import { header, idIn, type SignatureState, signatureChecker, signedIdOf } from "./signature.js";

const TIMEOUT_MS = 4_500;

/** Headers of the connection, and headers that the forwarding request sets itself. */
const NOT_FORWARDED = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "keep-alive",
  "expect",
]);

interface Forwarded {
  readonly status: number;
  readonly body: Buffer | string;
  readonly error?: string;
}

/** Sends a request's headers and body to another URL. */
async function forward(url: string, request: IncomingMessage, raw: Buffer): Promise<Forwarded> {
  const headers = Object.entries(request.headers).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string" && !NOT_FORWARDED.has(entry[0]),
  );
  const response = await fetch(url, {
    method: "POST",
    headers,
    body: new Uint8Array(raw),
    redirect: "manual",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
}

/** The response if forwarding failed: 502, so that the sender tries again. */
function forwardFailure(error: unknown): Forwarded {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
  return { status: 502, body: "", error: code };
}

/** A message that a webhook brought. `--json` prints it in this form. */
export interface ReceivedWebhook {
  /** ISO time. */
  readonly at: string;
  readonly messageId: string | undefined;
  readonly attempt: string | undefined;
  readonly signature: SignatureState;
  /** A message with the same signed id was received before. */
  readonly isRepeat: boolean;
  /** Parsed JSON, or text if it is not JSON. */
  readonly body: unknown;
  /** The status that was sent in response. */
  readonly answered: number;
  /** Why forwarding failed. */
  readonly forwardError?: string;
}

export interface HandlerOptions {
  /** The status to respond with, unless the webhook is forwarded. */
  readonly status: number;
  readonly secret: string | undefined;
  readonly forwardUrl: string | undefined;
  now(): number;
}

/** A request handler that verifies, forwards and answers webhooks and passes them to `onWebhook`. */
export async function webhookHandler(
  { status, secret, forwardUrl, now }: HandlerOptions,
  onWebhook: (webhook: ReceivedWebhook) => Promise<void>,
): Promise<(request: IncomingMessage, response: ServerResponse) => Promise<void>> {
  const { memoryDedupe } = await import("@sluice/webhooks");
  const check = await signatureChecker(secret);
  const received = memoryDedupe();
  return async (request, response) => {
    const raw = await readBody(request);
    const signature = check(raw, request, now());
    const forwarded =
      forwardUrl === undefined ? undefined : await forward(forwardUrl, request, raw).catch(forwardFailure);
    const answered = forwarded?.status ?? status;
    response.writeHead(answered).end(forwarded?.body ?? "");
    for (const { body, messageId, signedId } of messagesOf(parse(raw), request)) {
      const isKnown = signature === "valid" && signedId !== undefined;
      const isRepeat = isKnown && (await received.has(signedId));
      if (isKnown) await received.add(signedId);
      await onWebhook({
        at: new Date(now()).toISOString(),
        messageId,
        attempt: header(request, ATTEMPT_HEADER),
        signature,
        isRepeat,
        body,
        answered,
        ...definedFields({ forwardError: forwarded?.error }),
      });
    }
  };
}

interface ReceivedMessage {
  readonly body: unknown;
  readonly messageId: string | undefined;
  readonly signedId: string | undefined;
}

/** The messages of a request: one, or those of a batch, which have ids of their own. */
function messagesOf(parsed: unknown, request: IncomingMessage): readonly ReceivedMessage[] {
  const { type, messages } = (parsed ?? {}) as { readonly type?: unknown; readonly messages?: unknown };
  if (type === undefined && Array.isArray(messages))
    return messages.map((body: unknown) => ({ body, messageId: idIn(body), signedId: idIn(body) }));
  const messageId = header(request, MESSAGE_ID_HEADER);
  return [{ body: parsed, messageId, signedId: signedIdOf(request, parsed) }];
}

/** Above the size of any webhook: a batch has at most 1 MB. */
const MAX_BODY_BYTES = 2 * 1_024 * 1_024;

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > MAX_BODY_BYTES) throw new Error("The request is larger than any webhook");
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

function parse(raw: Buffer): unknown {
  const text = raw.toString("utf8");
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
