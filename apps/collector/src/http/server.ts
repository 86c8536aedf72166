import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { KB } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import { CollectorError, collectorErrorOf } from "../errors.js";
import type { Logger } from "../process/logger.js";
import type { Metrics } from "../process/metrics.js";
import { type BufferBudget, bufferBudget } from "./buffer-budget.js";
import { corsHeaders, preflightHeaders } from "./cors.js";
import { failureLog } from "./failure-log.js";
import { IncomingRequest } from "./incoming-request.js";
import { HTTP_LIMITS, type HttpLimits } from "./limits.js";
import { isLingering, linger } from "./linger.js";
import { errorAnswer, rawErrorAnswer, respond, respondStream } from "./respond.js";
import type { HttpAnswer, Route } from "./route.js";
import { createRouter } from "./router.js";

export interface ServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly routes: readonly Route[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly limits?: Partial<HttpLimits>;
  /** The memory for bodies, where others want to see how full it is. Default: one of `limits.maxBufferedBytes`. */
  readonly budget?: BufferBudget;
}

export interface HttpServer {
  readonly port: number;
  /** `http://host:port`, as this machine reaches it. */
  readonly url: string;
  /** Takes no connection any more, lets requests under way end for at most `graceMs`, then cuts what is left. */
  close(graceMs: number): Promise<void>;
}

/** What a connection is doing, kept on the socket itself: this is asked for each request. */
interface Connection extends Duplex {
  /** Requests that are not answered yet. */
  [underWay]?: number;
  /** The last request that came over it. */
  [latest]?: IncomingRequest;
  /** Of answers that the client has not taken yet; small ones are not counted. */
  [unsentBytes]?: number;
  /** Something came that is no HTTP, or came too slowly: it ends with the answers that are under way. */
  [isBroken]?: boolean;
}
const underWay = Symbol("underWay");
const latest = Symbol("latest");
const unsentBytes = Symbol("unsentBytes");
const isBroken = Symbol("isBroken");

/**
 * A client that asks on while more than this waits for it does not read, and a few bytes of its requests would be kilobytes of our
 * memory each. Whoever waits for an answer before the next request never has any waiting.
 */
const MOST_UNSENT_BYTES = 64 * KB;
const SMALL_ANSWER_BYTES = KB;

const NO_HEADERS = Object.freeze({});

/** Serves routes over node:http. Rejects when the port cannot be had. */
export async function startServer(options: ServerOptions): Promise<HttpServer> {
  const { clock, logger, metrics } = options;
  const logFailure = failureLog(logger, clock);
  const limits: HttpLimits = { ...HTTP_LIMITS, ...options.limits };
  const findRoute = createRouter(options.routes);
  const budget = options.budget ?? bufferBudget(limits.maxBufferedBytes);
  let active = 0;
  /** Of requests that asked for a signal: few, and only they are told when the server closes. */
  const aborts = new Set<AbortController>();
  let isClosing = false;

  const answered = metrics.counter(
    "sluice_http_requests_total",
    "Requests answered, by status class and route",
    ["route", "status"],
  );
  const broken = metrics.counter("sluice_http_broken_total", "Connections ended for what came over them", [
    "code",
  ]);
  metrics.gauge("sluice_http_buffered_bytes", "Request bodies held in memory", () => budget.usedBytes);
  metrics.gauge(
    "sluice_http_buffered_bytes_max",
    "What request bodies may take of memory",
    () => budget.maxBytes,
  );
  metrics.gauge("sluice_http_requests_active", "Requests that are not answered yet", () => active);

  const cut = (connection: Connection): void => {
    if (!connection.destroyed) broken.inc(["unread_answers"]);
    connection.destroy();
  };
  const serve = (message: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void => {
    const connection = message.socket as Socket & Connection;
    if (isUnread(connection)) {
      cut(connection);
      return;
    }
    const target = splitTarget(message.url ?? "/");
    const match = findRoute(target.path);
    const request = new IncomingRequest(
      message,
      response,
      { ...target, params: match?.params ?? NO_HEADERS },
      { budget, trustedProxies: limits.trustedProxies, expectsContinue, aborts },
    );
    connection[underWay] = (connection[underWay] ?? 0) + 1;
    connection[latest] = request;
    active++;

    const headers = match?.route.cors ? corsHeaders(message.headers) : NO_HEADERS;
    const finish = (answer: HttpAnswer): void => {
      answered.inc([match?.route.path ?? "none", String(answer.status)]);
      if (isUnread(connection)) {
        cut(connection);
        done();
        return;
      }
      if (isClosing || connection[isBroken]) response.shouldKeepAlive = false;
      if (answer.stream === undefined) {
        const isBodyLost = request.isBodyHeldBack || connection[isBroken] === true;
        respond(message, response, answer, { headers, isBodyLost });
        if (response.writableLength > SMALL_ANSWER_BYTES) countUnsent(connection, response);
        done();
        return;
      }
      const { stream } = answer;
      respondStream(response, { ...answer, stream }, headers, request.signal)
        .catch((error: unknown) => logFailure("a stream failed", { path: target.path, error }))
        .finally(done);
    };
    const fail = (error: unknown): void => {
      if (collectorErrorOf(error).code === "internal")
        logFailure("a request failed", { method: request.method, path: target.path, error });
      finish(errorAnswer(error));
    };
    const done = (): void => {
      connection[underWay] = (connection[underWay] ?? 1) - 1;
      active--;
      request.release();
      // A stream had told its client, long before, that the connection would stay.
      if (isClosing) response.once("finish", () => setImmediate(() => server.closeIdleConnections()));
    };

    if (message.httpVersion === "1.1" && hostHeaders(message.rawHeaders) !== 1) {
      fail(new CollectorError("invalid_request", "a request of HTTP/1.1 must have one Host header"));
      return;
    }
    if (match === undefined) {
      fail(new CollectorError("not_found"));
      return;
    }
    const { route } = match;
    if (request.method === "OPTIONS") {
      const allow = [...Object.keys(route.methods), "OPTIONS"].join(", ");
      finish({
        status: 204,
        headers: route.cors ? { allow, ...preflightHeaders(message.headers, route) } : { allow },
      });
      return;
    }
    const handler =
      route.methods[(request.method === "HEAD" ? "GET" : request.method) as keyof Route["methods"]];
    if (handler === undefined) {
      const allow = [...Object.keys(route.methods), "OPTIONS"].join(", ");
      const answer = errorAnswer(new CollectorError("method_not_allowed", request.method));
      finish({ ...answer, headers: { allow } });
      return;
    }
    try {
      const result = handler(request);
      if (result instanceof Promise) result.then(finish, fail);
      else finish(result);
    } catch (error) {
      fail(error);
    }
  };

  const server = createServer(
    {
      headersTimeout: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs),
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: limits.timeoutCheckMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      maxHeaderSize: limits.maxHeaderBytes,
      requireHostHeader: false,
      noDelay: true,
    },
    (message, response) => serve(message, response, false),
  );
  server.maxHeadersCount = limits.maxHeaders;
  server.maxConnections = limits.maxConnections;
  server.timeout = limits.idleTimeoutMs;
  // Whoever waits for an answer says nothing meanwhile, for minutes at times (`GET /wait`, a great replay).
  server.on("timeout", (socket: Socket & Connection) => {
    const isAnswerAwaited =
      (socket[underWay] ?? 0) > 0 && socket[latest]?.isArriving !== true && socket.writableLength === 0;
    if (isAnswerAwaited) socket.setTimeout(limits.idleTimeoutMs);
    else socket.destroy();
  });
  server.on("checkContinue", (message: IncomingMessage, response: ServerResponse) =>
    serve(message, response, true),
  );
  server.on("clientError", (error: NodeJS.ErrnoException, duplex: Duplex) => {
    const socket = duplex as Socket & Connection;
    if (isLingering(socket)) return;
    broken.inc([error.code ?? "unknown"]);
    endBroken(error, socket);
  });
  metrics.gauge("sluice_http_connections", "Open connections", () => connectionCount);
  let connectionCount = 0;
  server.on("connection", (socket) => {
    connectionCount++;
    socket.once("close", () => connectionCount--);
    // What node:http calls after the last answer of a connection.
    socket.destroySoon = () => linger(socket, clock, limits.drainTimeoutMs);
  });

  await listen(server, options.host, options.port);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://${urlHost(options.host)}:${port}`,
    close(graceMs) {
      isClosing = true;
      return new Promise((resolve) => {
        const cancel = clock.after(graceMs, () => server.closeAllConnections());
        server.close(() => {
          cancel();
          resolve();
        });
        for (const controller of aborts) controller.abort();
        server.closeIdleConnections();
      });
    },
  };
}

function isUnread(connection: Connection): boolean {
  return (connection[unsentBytes] ?? 0) > MOST_UNSENT_BYTES;
}

function countUnsent(connection: Connection, response: ServerResponse): void {
  const bytes = response.writableLength;
  connection[unsentBytes] = (connection[unsentBytes] ?? 0) + bytes;
  response.once("close", () => {
    connection[unsentBytes] = (connection[unsentBytes] ?? bytes) - bytes;
  });
}

/**
 * Ends a connection on which no further request can be made out. Requests that are under way get their own answers first:
 * bytes written now would be taken for those. If it is the body of the last one that is broken, that is its answer.
 */
function endBroken(error: NodeJS.ErrnoException, socket: Socket & Connection): void {
  if (!socket.writable || error.code === "ECONNRESET" || error.code === "EPIPE") {
    socket.destroy();
    return;
  }
  socket[isBroken] = true;
  if ((socket[underWay] ?? 0) > 0) {
    if (socket[latest]?.isArriving) socket[latest].failBody(brokenError(error));
    return;
  }
  // Otherwise it is answered already, and only the rest of its body was being read.
  if (!socket[latest]?.isArriving) socket.write(rawErrorAnswer(brokenError(error)));
  socket.destroySoon();
}

function brokenError(error: NodeJS.ErrnoException): CollectorError {
  switch (error.code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new CollectorError("request_timeout");
    case "HPE_HEADER_OVERFLOW":
      return new CollectorError("headers_too_large");
    default:
      return new CollectorError("invalid_request", "not HTTP/1.1");
  }
}

/** How many `Host` headers stand in a list of names and values. */
function hostHeaders(raw: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string;
    if (name.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count;
}

/** Path and query of a request target, also of the absolute form that proxies are sent. */
function splitTarget(url: string): { path: string; query: string } {
  const target = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "");
  const mark = target.indexOf("?");
  const path = mark === -1 ? target : target.slice(0, mark);
  return { path: path === "" ? "/" : path, query: mark === -1 ? "" : target.slice(mark + 1) };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog: 1_024 }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** An address that listens everywhere is reached by the loopback one. */
function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::" || host === "") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
