import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "@sluice/resilience";
import type { Logger } from "../process/telemetry/logger.js";
import type { Metrics } from "../process/telemetry/metrics.js";
import type { AmountsByAddress } from "./body/amounts-by-address.js";
import { type BufferBudget, bufferBudget } from "./body/buffer-budget.js";
import {
  type Connection,
  cutNotReading,
  endBroken,
  isAwaitingResponse,
  isNotReading,
} from "./connection/connection.js";
import { ConnectionShares } from "./connection/connection-shares.js";
import { isLingering, linger } from "./connection/linger.js";
import { type HttpMetrics, httpMetrics } from "./http-metrics.js";
import { HTTP_LIMITS, type HttpLimits } from "./limits.js";
import type { Route } from "./routing.js";
import { createRouter } from "./routing.js";
import { serveRequest } from "./serve-request.js";

// An `import` reads every property of the module, and one of them loads Node.js's own fetch: a sixth of a start.
const { createServer } = process.getBuiltinModule("node:http");

export interface ServerOptions {
  /** Which of the collector's addresses it is. Default: `public`. */
  readonly name?: "public" | "admin";
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Whether other threads listen on the port too: the system deals connections out to them. Default: false. */
  readonly isShared?: boolean;
  /** Pipelined requests by client address. Default: those of this listener. */
  readonly inTurn?: AmountsByAddress | undefined;
  readonly routes: readonly Route[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly limits?: Partial<HttpLimits>;
  /** The memory for bodies, if others need to see how full it is. Default: one of `limits.maxBufferedBytes`. */
  readonly budget?: BufferBudget;
  /** The metrics of requests, if several servers share them. */
  readonly httpMetrics?: HttpMetrics;
}

export interface HttpServer {
  readonly port: number;
  /** `http://host:port`, as this machine reaches it. */
  readonly url: string;
  /** Stops accepting connections, lets pending requests finish for at most `graceMs`, then closes what is left. */
  close(graceMs: number): Promise<void>;
}

export type StartServer = (options: ServerOptions) => Promise<HttpServer>;

/** Serves routes over node:http. Rejects if it cannot listen on the port. `open`: only the simulation replaces it. */
export async function startServer(
  options: ServerOptions | (Omit<ServerOptions, "metrics"> & { readonly httpMetrics: HttpMetrics }),
  open: OpenListener = openListener,
): Promise<HttpServer> {
  const { clock } = options;
  const limits: HttpLimits = { ...HTTP_LIMITS, ...options.limits };
  const budget = options.budget ?? bufferBudget(limits.maxBufferedBytes, clock);
  const metrics =
    "metrics" in options
      ? (options.httpMetrics ?? httpMetrics(options.metrics, budget))
      : options.httpMetrics;
  const serving = routeServer({ ...options, limits, budget, httpMetrics: metrics });
  const { closeIdle, ...listener } = await open({ ...options, limits, metrics, clock }, serving.serve);
  return {
    ...listener,
    close(graceMs) {
      serving.beginClosing(closeIdle);
      return listener.close(graceMs);
    },
  };
}

/** Serves parsed requests with routes, whoever listens. */
export interface RouteServer {
  readonly serve: ServeRequest;
  /** Aborts the requests that asked for a signal. From now on connections end with their response, and `closeIdle` is called for the idle ones. */
  beginClosing(closeIdle: () => void): void;
  /** Aborts the requests that asked for a signal, such as live streams. */
  abortStreams(): void;
}

export type ServeRequest = (
  message: IncomingMessage,
  response: ServerResponse,
  expectsContinue: boolean,
) => void;

export function routeServer(
  options: Pick<ServerOptions, "routes" | "logger"> & {
    readonly limits: Pick<HttpLimits, "trustedProxies" | "proxyHeaders">;
    readonly budget: BufferBudget;
    readonly httpMetrics: HttpMetrics;
  },
): RouteServer {
  /** Few requests ask for a signal, and only those are aborted when the server closes. */
  const aborts = new Set<AbortController>();
  let closeIdle: (() => void) | undefined;
  const serving = {
    findRoute: createRouter(options.routes),
    budget: options.budget,
    trustedProxies: { count: options.limits.trustedProxies, headers: options.limits.proxyHeaders },
    metrics: options.httpMetrics,
    logger: options.logger,
    aborts,
    isClosing: () => closeIdle !== undefined,
    closeIdleConnections: () => closeIdle?.(),
  };
  const abortStreams = (): void => {
    for (const controller of aborts) controller.abort();
  };
  return {
    serve: (message, response, expectsContinue) => serveRequest(serving, message, response, expectsContinue),
    beginClosing(closeIdleConnections) {
      closeIdle = closeIdleConnections;
      abortStreams();
    },
    abortStreams,
  };
}

export interface ListenerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly isShared?: boolean;
  readonly inTurn?: AmountsByAddress | undefined;
  readonly limits: HttpLimits;
  readonly metrics: Pick<HttpMetrics, "connections" | "broken">;
  readonly clock: Clock;
}

/** An address that is listened on. */
export interface Listener extends HttpServer {
  /** Closes the connections without a request. */
  closeIdle(): void;
}

export type OpenListener = (options: ListenerOptions, serve: ServeRequest) => Promise<Listener>;

/** Listens, and passes every request to `serve`. Rejects if it cannot listen on the port. */
export const openListener: OpenListener = async (options, serve) => {
  const { limits, metrics, clock } = options;
  const server = createLimitedServer(limits);
  const serveIfRead: ServeRequest = (message, response, expectsContinue) => {
    if (isNotReading(message.socket)) cutNotReading(message.socket, metrics);
    else serve(message, response, expectsContinue);
  };
  server.on("request", (message, response) => serveIfRead(message, response, false));
  server.on("checkContinue", (message, response) => serveIfRead(message, response, true));
  watchConnections(server, options);
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  return {
    closeIdle: () => server.closeIdleConnections(),
    port,
    url: `http://${urlHost(options.host)}:${port}`,
    close(graceMs) {
      return new Promise((resolve) => {
        const cancel = clock.after(graceMs, () => server.closeAllConnections());
        server.close(() => {
          cancel();
          resolve();
        });
        server.closeIdleConnections();
      });
    },
  };
};

function createLimitedServer(limits: HttpLimits): Server {
  const server = createServer({
    headersTimeout: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs),
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: limits.timeoutCheckMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    maxHeaderSize: limits.maxHeaderBytes,
    requireHostHeader: false,
    noDelay: true,
  });
  server.maxHeadersCount = limits.maxHeaders;
  server.timeout = limits.idleTimeoutMs;
  return server;
}

function watchConnections(server: Server, { limits, metrics, clock, inTurn }: ListenerOptions): void {
  const shares = new ConnectionShares(limits.maxConnections, inTurn);
  server.on("connection", (socket) => {
    if (!shares.add(socket)) {
      metrics.broken("too_many_connections");
      socket.destroy();
      return;
    }
    metrics.connections++;
    socket.once("close", () => metrics.connections--);
    // node:http calls this after the last response of a connection.
    socket.destroySoon = () => linger(socket, clock, limits.drainTimeoutMs);
  });
  server.on("timeout", (socket) => {
    if (isAwaitingResponse(socket)) socket.setTimeout(limits.idleTimeoutMs);
    else socket.destroy();
  });
  server.on("clientError", (error: NodeJS.ErrnoException, duplex) => {
    const connection = duplex as Connection;
    if (isLingering(connection)) return;
    metrics.broken(error.code ?? "unknown");
    endBroken(error, connection);
  });
}

/** Rejects like `startServer` if the port cannot be listened on. Used before anything is created that a failed start would leave behind. */
export async function checkPort(host: string, port: number): Promise<void> {
  const server = createServer();
  await listen(server, { host, port });
  await new Promise((resolve) => server.close(resolve));
}

function listen(
  server: Server,
  { host, port, isShared = false }: Pick<ListenerOptions, "host" | "port" | "isShared">,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog: 1_024, reusePort: isShared }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** A server that listens on all addresses is reached at the loopback address. */
function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::" || host === "") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
