import type { MessagePort } from "node:worker_threads";
import { CollectorError, collectorErrorOf } from "../errors.js";
import { hostsOf, originOf, type TrustedProxies } from "../http/connection/forwarded.js";
import { errorAnswer } from "../http/connection/respond.js";
import type { HttpAnswer, HttpRequest, Route } from "../http/routing.js";
import { type FromHandler, type FromListener, type RequestHead, whole } from "./remote-routes.js";

/** Chunks that may be on their way to a client, in characters or bytes. */
const MOST_UNWRITTEN = 64 * 1_024;

/** Answers the requests that a thread passes on; see `remoteRoutes`. Once the port is closed, its requests are aborted. */
export function answerPassedOn(
  port: MessagePort,
  routes: () => readonly Route[],
  trustedProxies: TrustedProxies,
): void {
  const open = new Map<number, PassedOnRequest>();
  const send = (message: FromHandler): void => port.postMessage(message);
  port.on("message", (message: FromListener) => {
    if (message.kind !== "request") {
      open.get(message.id)?.take(message);
      return;
    }
    const { id, route, method, head } = message;
    const request = new PassedOnRequest(id, head, trustedProxies, send);
    open.set(id, request);
    const handler = routes().find(({ path }) => path === route)?.methods[method];
    void answer(request, handler).finally(() => {
      open.delete(id);
      request.abort();
    });
  });
  port.on("close", () => {
    for (const request of open.values()) request.abort();
  });
}

const DISCONNECTED = "the connection has ended";

type Handler = (request: HttpRequest) => Promise<HttpAnswer> | HttpAnswer;

async function answer(request: PassedOnRequest, handler: Handler | undefined): Promise<void> {
  let answered: HttpAnswer;
  try {
    if (handler === undefined) throw new CollectorError("not_found");
    answered = await handler(request);
  } catch (error) {
    if (collectorErrorOf(error).code === "internal") {
      request.fail(error);
      return;
    }
    answered = errorAnswer(error);
  }
  const { stream, ...head } = answered;
  request.answer(head, stream !== undefined);
  try {
    await stream?.(request.write, request.signal, request.drained);
    if (stream !== undefined) request.end();
  } catch (error) {
    request.fail(error);
  }
}

/** A request in the hands of another thread. */
class PassedOnRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly params: RequestHead["params"];
  readonly query: URLSearchParams;
  readonly headers: RequestHead["headers"];
  readonly remoteAddress: string;
  readonly isLocal: boolean;
  readonly #id: number;
  readonly #trustedProxies: TrustedProxies;
  readonly #send: (message: FromHandler) => void;
  readonly #aborting = new AbortController();
  #body: PromiseWithResolvers<Uint8Array | undefined> | undefined;
  #unwritten = 0;
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(
    id: number,
    head: RequestHead,
    trustedProxies: TrustedProxies,
    send: (message: FromHandler) => void,
  ) {
    this.#id = id;
    this.method = head.method;
    this.path = head.path;
    this.params = head.params;
    this.query = new URLSearchParams(head.query);
    this.headers = head.headers;
    this.remoteAddress = head.remoteAddress;
    this.isLocal = head.isLocal;
    this.#trustedProxies = trustedProxies;
    this.#send = send;
  }

  get hosts(): readonly string[] {
    return hostsOf(this.headers, this.#trustedProxies);
  }

  get origin(): string {
    return originOf(this.headers, this.#trustedProxies);
  }

  get signal(): AbortSignal {
    return this.#aborting.signal;
  }

  vouch(): void {
    this.#send({ id: this.#id, kind: "vouch" });
  }

  async readBody(limitBytes: number): Promise<Uint8Array> {
    return (await this.#ask(limitBytes, false)) ?? new Uint8Array();
  }

  async dropBody(limitBytes: number): Promise<void> {
    await this.#ask(limitBytes, true);
  }

  #ask(limitBytes: number, isDropped: boolean): Promise<Uint8Array | undefined> {
    // Nobody may be left at the other end who would answer.
    if (this.signal.aborted) return Promise.reject(new CollectorError("request_timeout", DISCONNECTED));
    const body = Promise.withResolvers<Uint8Array | undefined>();
    this.#body = body;
    this.#send({ id: this.#id, kind: "readBody", limitBytes, isDropped });
    return body.promise;
  }

  take(message: Exclude<FromListener, { kind: "request" }>): void {
    switch (message.kind) {
      case "body":
        this.#body?.resolve(message.body);
        return;
      case "bodyFailed": {
        const { code, detail, details } = message.error;
        this.#body?.reject(new CollectorError(code, detail, { details }));
        return;
      }
      case "written":
        this.#unwritten -= message.length;
        if (this.#unwritten < MOST_UNWRITTEN) this.#drained?.resolve();
        return;
      case "aborted":
        this.abort();
        return;
      default:
        message satisfies never;
    }
  }

  abort(): void {
    this.#aborting.abort();
    this.#drained?.resolve();
    this.#body?.reject(new CollectorError("request_timeout", DISCONNECTED));
  }

  answer(answer: Omit<HttpAnswer, "stream">, isStream: boolean): void {
    const { body } = answer;
    const sent = body instanceof Uint8Array ? { ...answer, body: whole(body) } : answer;
    this.#send({ id: this.#id, kind: "answer", answer: sent, isStream });
  }

  readonly write = (chunk: string | Uint8Array): boolean => {
    this.#unwritten += chunk.length;
    this.#send({ id: this.#id, kind: "chunk", chunk: typeof chunk === "string" ? chunk : whole(chunk) });
    return this.#unwritten < MOST_UNWRITTEN;
  };

  readonly drained = (): Promise<void> => {
    if (this.#unwritten < MOST_UNWRITTEN || this.signal.aborted) return Promise.resolve();
    this.#drained = Promise.withResolvers<void>();
    return this.#drained.promise;
  };

  end(): void {
    this.#send({ id: this.#id, kind: "end" });
  }

  fail(error: unknown): void {
    this.#send({
      id: this.#id,
      kind: "failed",
      reason: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  }
}
