import { rawOfParsed } from "./parsed-body.js";
import { type ReceiverOptions, receiver } from "./receive.js";
import type { RawBody } from "./signature.js";

/** What is used of a Fastify instance; Fastify's own type fits it. */
export interface FastifyLike {
  addContentTypeParser(
    contentType: string,
    options: { parseAs: "buffer"; bodyLimit?: number },
    parser: (request: unknown, body: Buffer, done: (error: Error | null, body?: unknown) => void) => void,
  ): unknown;
  removeAllContentTypeParsers(): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: Fastify's own handler type is generic over the server.
  post(path: string, handler: (this: any, request: any, reply: any) => Promise<unknown>): unknown;
}

/** What is used of a Fastify request. */
export interface FastifyRequestLike {
  readonly method: string;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/** What is used of a Fastify reply. */
export interface FastifyReplyLike {
  code(status: number): FastifyReplyLike;
  type(contentType: string): FastifyReplyLike;
  send(payload?: unknown): unknown;
}

export interface FastifyHandler {
  /** As a route's handler: `app.post("/hook", fastifyHandler(…))`. Behind Fastify's parser integers beyond 2^53 do not verify. */
  (request: FastifyRequestLike, reply: FastifyReplyLike): Promise<unknown>;
  /** As a plugin: `app.register(fastifyHandler({ secret, onMessage }), { prefix: "/hook" })`. Reads the raw bytes. */
  (app: FastifyLike, options: object): Promise<void>;
}

/** For Fastify (4 and 5), as a plugin with a raw-body parser of its own, or as a route's handler. */
export function fastifyHandler(options: ReceiverOptions): FastifyHandler {
  const hook = receiver(options);
  const answer = async (request: FastifyRequestLike, reply: FastifyReplyLike): Promise<unknown> => {
    const rawBody: RawBody = rawOfParsed(request) ?? "";
    const { status, text } = await hook.receive({
      method: request.method,
      header: (name) => {
        const value = request.headers[name];
        return Array.isArray(value) ? value[0] : value;
      },
      rawBody,
    });
    return reply.code(status).type("text/plain; charset=utf-8").send(text);
  };
  const plugin = async (app: FastifyLike): Promise<void> => {
    // Parsers belong to the plugin's own scope: the rest of the application keeps its JSON parser.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser(
      "*",
      { parseAs: "buffer", bodyLimit: hook.maxBodyBytes },
      (_request, body, done) => done(null, body),
    );
    app.post("/", answer);
  };
  const handler = (first: FastifyLike | FastifyRequestLike, second?: object): Promise<unknown> =>
    "addContentTypeParser" in first ? plugin(first) : answer(first, second as FastifyReplyLike);
  return handler as FastifyHandler;
}
