import { type ReceiverOptions, receiver } from "./receive.js";
import { answerWeb } from "./web-handler.js";

/** What is used of a Hono context; Hono's own type fits it. */
export interface HonoContextLike {
  readonly req: { readonly raw: Request };
}

/** For Hono: `app.post("/hook", honoHandler({ secret, onMessage }))`. It reads the body itself; nothing else may before. */
export function honoHandler(options: ReceiverOptions): (context: HonoContextLike) => Promise<Response> {
  const hook = receiver(options);
  return (context) => answerWeb(hook, context.req.raw);
}
