import type { IncomingMessage, ServerResponse } from "node:http";
import { answerNode } from "./node-handler.js";
import { rawOfParsed } from "./parsed-body.js";
import { readStream } from "./read-stream.js";
import { type ReceiverOptions, receiver } from "./receive.js";

/** An Express request, as far as it matters here. */
export type ExpressRequest = IncomingMessage & { body?: unknown; rawBody?: unknown };

/**
 * For Express (4 and 5): `app.post("/hook", expressHandler({ secret, onMessage }))`. Best mounted before
 * `express.json()`, so that it reads the bytes that were signed; behind it, integers beyond 2^53 do not verify.
 */
export function expressHandler(
  options: ReceiverOptions,
): (request: ExpressRequest, response: ServerResponse) => Promise<void> {
  const hook = receiver(options);
  return (request, response) =>
    answerNode(hook, request, response, async () => {
      // A parser that passed the request by leaves {} (Express 4) and the stream unread.
      const isRead = request.readableEnded || request.readableDidRead;
      const parsed = isRead ? rawOfParsed(request) : undefined;
      return parsed ?? (await readStream(request, hook.maxBodyBytes));
    });
}
