import type { IncomingMessage, ServerResponse } from "node:http";
import { dropRest } from "./drop-rest.js";
import { readStream } from "./read-stream.js";
import { type ReadBody, type Receiver, type ReceiverOptions, receiver } from "./receive.js";

/**
 * For `node:http`: `createServer(nodeHandler({ secret, onMessage }))`, or called for one path of a server. It reads the
 * body itself; nothing else may read it before.
 */
export function nodeHandler(
  options: ReceiverOptions,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const hook = receiver(options);
  return (request, response) =>
    answerNode(hook, request, response, () => readStream(request, hook.maxBodyBytes));
}

/** Reads, decides and answers one request of Node.js; `read` knows where the body is. */
export async function answerNode(
  hook: Receiver,
  request: IncomingMessage,
  response: ServerResponse,
  read: () => Promise<ReadBody>,
): Promise<void> {
  let rawBody: ReadBody;
  try {
    rawBody = await read();
  } catch {
    // The sender went away in the middle of the body: there is nobody to answer.
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
  // The answer is complete by its length. The connection closes when the sender has had time to read it.
  response.writeHead(answer.status, { ...headers, connection: "close" }).write(answer.text);
  await dropRest(request);
  response.end();
}
