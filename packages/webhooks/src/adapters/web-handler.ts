import { type ReadBody, type Receiver, receiver } from "../receiver/receiver.js";
import type { ReceiverOptions } from "../receiver/receiver-options.js";

/**
 * For frameworks that use `Request` and `Response`, such as Next.js route handlers, Remix, SvelteKit, Bun and Deno.
 * `export const POST = webHandler({ secret, onMessage });`
 */
export function webHandler(options: ReceiverOptions): (request: Request) => Promise<Response> {
  const hook = receiver(options);
  return (request) => answerWeb(hook, request);
}

/** Answers one Web request. */
async function answerWeb(hook: Receiver, request: Request): Promise<Response> {
  let rawBody: ReadBody;
  try {
    rawBody = await readBody(request, hook.maxBodyBytes);
  } catch {
    rawBody = "unreadable";
  }
  const { status, text } = await hook.receive({
    method: request.method,
    header: (name) => request.headers.get(name),
    rawBody,
  });
  return new Response(text, { status, headers: { "content-type": "text/plain; charset=utf-8" } });
}

async function readBody(request: Request, maxBytes: number): Promise<Uint8Array | "too_large"> {
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks);
    bytes += value.length;
    if (bytes > maxBytes) {
      await reader.cancel();
      return "too_large";
    }
    chunks.push(value);
  }
}

/** The parts of a Hono context that are used here. Hono's own type is assignable to it. */
export interface HonoContextLike {
  readonly req: { readonly raw: Request };
}

/** For Hono: `app.post("/hook", honoHandler({ secret, onMessage }))`. It reads the body itself, so nothing else may read it before. */
export function honoHandler(options: ReceiverOptions): (context: HonoContextLike) => Promise<Response> {
  const hook = receiver(options);
  return (context) => answerWeb(hook, context.req.raw);
}
