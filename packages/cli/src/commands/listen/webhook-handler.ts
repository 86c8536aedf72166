import type { IncomingMessage, ServerResponse } from "node:http";
import { ATTEMPT_HEADER, MESSAGE_ID_HEADER, SIGNATURE_HEADER } from "@sluice/protocol";
import { definedFields } from "../../arguments.js";

/** `outside_window`: signed more than five minutes ago or ahead. `unchecked`: there is no secret to verify with. */
export type SignatureState = "valid" | "invalid" | "outside_window" | "missing" | "unchecked";

type CheckSignature = (raw: Buffer, request: IncomingMessage, nowMs: number) => SignatureState;

/** Verifies like a receiver does: the Standard Webhooks headers if there are any, otherwise X-Signature. */
async function signatureChecker(secret: string | undefined): Promise<CheckSignature> {
  if (secret === undefined) return () => "unchecked";
  const { verify, verifyStandard } = await import("@sluice/webhooks");
  return (raw, request, nowMs) => {
    const standard = {
      "webhook-id": header(request, "webhook-id"),
      "webhook-timestamp": header(request, "webhook-timestamp"),
      "webhook-signature": header(request, "webhook-signature"),
    };
    if (Object.values(standard).some((value) => value !== undefined)) {
      const verdict = verifyStandard(raw, standard, secret, nowMs);
      return verdict === "mismatch" ? "invalid" : verdict;
    }
    const signature = header(request, SIGNATURE_HEADER);
    if (signature === undefined) return "missing";
    return verify(raw, signature, secret) ? "valid" : "invalid";
  };
}

/** The id of a valid webhook: `webhook-id`, otherwise the `messageId` in its body. Both are signed. */
function signedIdOf(request: IncomingMessage, body: unknown): string | undefined {
  const id = header(request, "webhook-id");
  return id === undefined || id === "" ? idIn(body) : id;
}

/** The id in a message. */
function idIn(body: unknown): string | undefined {
  const id = (body as { messageId?: unknown } | null)?.messageId;
  return typeof id === "string" && id !== "" ? id : undefined;
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name.toLowerCase()];
  return Array.isArray(value) ? value[0] : value;
}

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

interface HandlerOptions {
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
