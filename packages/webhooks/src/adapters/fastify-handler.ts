import { rawBodyOf } from "../body.js";
import { receiver } from "../receiver/receiver.js";
import type { ReceiverOptions } from "../receiver/receiver-options.js";
import type { RawBody } from "../signature/signature.js";

/** The parts of a Fastify instance that are used here. Fastify's own type is assignable to it. */
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

/** The parts of a Fastify request that are used here. */
export interface FastifyRequestLike {
  readonly method: string;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/** The parts of a Fastify reply that are used here. */
export interface FastifyReplyLike {
  code(status: number): FastifyReplyLike;
  type(contentType: string): FastifyReplyLike;
  send(payload?: unknown): unknown;
}

export interface FastifyHandler {
  /** As a route handler: `app.post("/hook", fastifyHandler(…))`. Bodies with integers beyond 2^53 fail verification. */
  (request: FastifyRequestLike, reply: FastifyReplyLike): Promise<unknown>;
  /** As a plugin: `app.register(fastifyHandler({ secret, onMessage }), { prefix: "/hook" })`. It reads the raw body. */
  (app: FastifyLike, options: object): Promise<void>;
}

/** For Fastify (4 and 5), as a plugin with its own raw-body parser, or as a route handler. */
export function fastifyHandler(options: ReceiverOptions): FastifyHandler {
  const hook = receiver(options);
  const answer = async (request: FastifyRequestLike, reply: FastifyReplyLike): Promise<unknown> => {
    const rawBody: RawBody = rawBodyOf(request) ?? "";
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
    // Parsers apply only within the plugin: the rest of the application keeps its JSON parser.
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
