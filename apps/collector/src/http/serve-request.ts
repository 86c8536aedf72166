import type { IncomingMessage, ServerResponse } from "node:http";
import { CollectorError, collectorErrorOf } from "../errors.js";
import type { Logger } from "../process/telemetry/logger.js";
import type { BufferBudget } from "./body/buffer-budget.js";
import {
  beginRequest,
  type Connection,
  countUnsent,
  cutNotReading,
  endRequest,
  isConnectionBroken,
  isNotReading,
} from "./connection/connection.js";
import type { TrustedProxies } from "./connection/forwarded.js";
import { IncomingRequest } from "./connection/incoming-request.js";
import { hostRefusal, REQUEST_ID_HEADER, requestIdOf } from "./connection/request-head.js";
import { errorAnswer, respond, respondStream } from "./connection/respond.js";
import type { HttpMetrics } from "./http-metrics.js";
import type { Handler, HttpAnswer, Route, Router } from "./routing.js";
import { corsHeaders, preflightHeaders } from "./routing.js";

export interface ServeOptions {
  readonly findRoute: Router;
  readonly budget: BufferBudget;
  readonly trustedProxies: TrustedProxies;
  readonly metrics: HttpMetrics;
  readonly logger: Logger;
  /** Holds the controller of each request that asked for a signal. */
  readonly aborts: Set<AbortController>;
  readonly isClosing: () => boolean;
  readonly closeIdleConnections: () => void;
}

const NO_HEADERS = Object.freeze({});

/** Serves a request: finds its route, calls the handler, and writes the response. */
export function serveRequest(
  options: ServeOptions,
  message: IncomingMessage,
  response: ServerResponse,
  expectsContinue: boolean,
): void {
  const connection = message.socket as Connection;
  const target = splitTarget(message.url ?? "/");
  const found = options.findRoute(target.path);
  const match = found?.route.isNotFoundPage && !asksForPage(message, target.path) ? undefined : found;
  const request = new IncomingRequest(
    message,
    response,
    { ...target, params: match?.params ?? NO_HEADERS },
    {
      budget: options.budget,
      trustedProxies: options.trustedProxies,
      aborts: options.aborts,
      expectsContinue,
    },
  );
  beginRequest(connection, request);
  options.metrics.activeRequests++;
  new ServedRequest(options, message, response, request, match?.route).handle();
}

/** One request, from its handler to the end of its response. */
class ServedRequest {
  readonly #options: ServeOptions;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #request: IncomingRequest;
  readonly #route: Route | undefined;
  /** In the response's header, in the bodies of errors, and in log lines about the request. */
  readonly #requestId: string;

  constructor(
    options: ServeOptions,
    message: IncomingMessage,
    response: ServerResponse,
    request: IncomingRequest,
    route: Route | undefined,
  ) {
    this.#options = options;
    this.#message = message;
    this.#response = response;
    this.#request = request;
    this.#route = route;
    this.#requestId = requestIdOf(message.headers[REQUEST_ID_HEADER]);
  }

  handle(): void {
    const handler = handlerOf(this.#message, this.#route);
    if (typeof handler !== "function") {
      this.#finish(handler);
      return;
    }
    try {
      const result = handler(this.#request);
      if (result instanceof Promise) result.then(this.#finish, this.#fail);
      else this.#finish(result);
    } catch (error) {
      this.#fail(error);
    }
  }

  readonly #fail = (error: unknown): void => {
    if (collectorErrorOf(error).code === "internal") {
      const { method, path } = this.#request;
      this.#options.logger.error("request failed", { requestId: this.#requestId, method, path, error });
    }
    this.#finish(errorAnswer(error));
  };

  readonly #finish = (answer: HttpAnswer): void => {
    const { metrics, isClosing } = this.#options;
    const connection = this.#message.socket as Connection;
    metrics.answered(this.#route?.path, answer.status);
    if (isNotReading(connection)) {
      cutNotReading(connection, metrics);
      this.#end();
      return;
    }
    if (isClosing() || isConnectionBroken(connection)) this.#response.shouldKeepAlive = false;
    const { stream } = answer;
    if (stream === undefined) {
      this.#respond(answer, connection);
      return;
    }
    respondStream(this.#response, { ...answer, stream }, this.#headers(), this.#request.signal)
      .catch((error: unknown) => {
        this.#options.logger.error("response stream failed", {
          requestId: this.#requestId,
          path: this.#request.path,
          error,
        });
      })
      .finally(() => this.#end());
  };

  #respond(answer: HttpAnswer, connection: Connection): void {
    respond(this.#message, this.#response, withRequestId(answer, this.#requestId), {
      headers: this.#headers(),
      isBodyLost: this.#request.isBodyHeldBack || isConnectionBroken(connection),
    });
    countUnsent(connection, this.#response);
    this.#end();
  }

  #headers(): Readonly<Record<string, string>> {
    const id = { [REQUEST_ID_HEADER]: this.#requestId };
    return this.#route?.cors ? { ...corsHeaders(this.#message.headers), ...id } : id;
  }

  #end(): void {
    const { metrics, isClosing, closeIdleConnections } = this.#options;
    endRequest(this.#message.socket as Connection);
    metrics.activeRequests--;
    this.#request.release();
    // The head of a streamed response was sent before the server began to close, and promised to keep the connection.
    if (isClosing()) this.#response.once("finish", () => setImmediate(closeIdleConnections));
  }
}

/** The answer with the request's id in the body, if it is an error. */
function withRequestId(answer: HttpAnswer, requestId: string): HttpAnswer {
  const { status, body } = answer;
  if (status < 400 || typeof body !== "object" || !("success" in body) || body.success !== false)
    return answer;
  return { ...answer, body: { ...body, requestId } };
}

/** Whether a browser asks for a page. Addresses of the APIs are none, whoever asks. */
function asksForPage({ method, headers }: IncomingMessage, path: string): boolean {
  return (
    (method === "GET" || method === "HEAD") &&
    (headers.accept ?? "").includes("text/html") &&
    !/^\/(?:v1|api)(?:\/|$)/.test(path)
  );
}

/** The handler of a request, or the answer if there is none. */
function handlerOf(message: IncomingMessage, route: Route | undefined): Handler | HttpAnswer {
  const unclear = hostRefusal(message);
  if (unclear !== undefined) return errorAnswer(unclear);
  if (route === undefined) return errorAnswer(new CollectorError("not_found"));
  const method = message.method ?? "GET";
  const handler = route.methods[(method === "HEAD" ? "GET" : method) as keyof Route["methods"]];
  if (handler !== undefined) return handler;
  const allow = [...Object.keys(route.methods), "OPTIONS"].join(", ");
  if (method === "OPTIONS")
    return {
      status: 204,
      headers: route.cors ? { allow, ...preflightHeaders(message.headers, route) } : { allow },
    };
  return { ...errorAnswer(new CollectorError("method_not_allowed", method)), headers: { allow } };
}

/** Splits a request target into path and query. Proxies are sent the absolute form. */
function splitTarget(url: string): { path: string; query: string } {
  const target = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "");
  const mark = target.indexOf("?");
  const path = mark === -1 ? target : target.slice(0, mark);
  return { path: path === "" ? "/" : path, query: mark === -1 ? "" : target.slice(mark + 1) };
}
