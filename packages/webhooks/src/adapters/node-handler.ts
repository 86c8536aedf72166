import type { IncomingMessage, ServerResponse } from "node:http";
import { dropRemainingBody, rawBodyOf, readStream } from "../body.js";
import { type ReadBody, type Receiver, receiver } from "../receiver/receiver.js";
import type { ReceiverOptions } from "../receiver/receiver-options.js";

/**
 * For `node:http`: `createServer(nodeHandler({ secret, onMessage }))`, or call it for one path of your server. It reads the body itself, so
 * nothing else may read it before.
 */
export function nodeHandler(
  options: ReceiverOptions,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const hook = receiver(options);
  return (request, response) =>
    answerNode(hook, request, response, () => readStream(request, hook.maxBodyBytes));
}

/** Answers one request of `node:http`. `read` reads its body. */
async function answerNode(
  hook: Receiver,
  request: IncomingMessage,
  response: ServerResponse,
  read: () => Promise<ReadBody>,
): Promise<void> {
  let rawBody: ReadBody;
  try {
    rawBody = await read();
  } catch {
    // The sender disconnected before the end of the body, so there is nobody to answer.
    response.destroy();
    return;
  }
  const answer = await hook.receive({
    method: request.method ?? "",
    header: (name) => {
      const value = request.headers[name];
      return Array.isArray(value) ? value[0] : value;
    },
    rawBody,
  });
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    "content-length": String(Buffer.byteLength(answer.text)),
  };
  if (rawBody !== "too_large") {
    response.writeHead(answer.status, headers).end(answer.text);
    return;
  }
  // The answer is complete by its length. The connection is closed after the sender has had time to read it.
  response.writeHead(answer.status, { ...headers, connection: "close" }).write(answer.text);
  await dropRemainingBody(request);
  response.end();
}

/** The parts of an Express request that are used here. */
export type ExpressRequest = IncomingMessage & { body?: unknown; rawBody?: unknown };

/**
 * For Express (4 and 5): `app.post("/hook", expressHandler({ secret, onMessage }))`. It needs the raw body, so mount it before
 * `express.json()`. After it, bodies with integers beyond 2^53 fail verification.
 */
export function expressHandler(
  options: ReceiverOptions,
): (request: ExpressRequest, response: ServerResponse) => Promise<void> {
  const hook = receiver(options);
  return (request, response) =>
    answerNode(hook, request, response, async () => {
      // A parser that skipped the request leaves `{}` (Express 4) and does not read the stream.
      const isRead = request.readableEnded || request.readableDidRead;
      const parsed = isRead ? rawBodyOf(request) : undefined;
      return parsed ?? (await readStream(request, hook.maxBodyBytes));
    });
}
