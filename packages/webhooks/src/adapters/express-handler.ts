import type { IncomingMessage, ServerResponse } from "node:http";
import { rawBodyOf, readStream } from "../body.js";
import { receiver } from "../receiver/receiver.js";
import type { ReceiverOptions } from "../receiver/receiver-options.js";
import { answerNode } from "./node-handler.js";

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
