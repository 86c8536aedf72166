import { receiver } from "../receiver/receiver.js";
import type { ReceiverOptions } from "../receiver/receiver-options.js";
import { answerWeb } from "./web-handler.js";

/** The parts of a Hono context that are used here. Hono's own type is assignable to it. */
export interface HonoContextLike {
  readonly req: { readonly raw: Request };
}

/** For Hono: `app.post("/hook", honoHandler({ secret, onMessage }))`. It reads the body itself, so nothing else may read it before. */
export function honoHandler(options: ReceiverOptions): (context: HonoContextLike) => Promise<Response> {
  const hook = receiver(options);
  return (context) => answerWeb(hook, context.req.raw);
}
