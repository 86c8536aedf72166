import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "@sluice/resilience";
import type { Logger } from "../process/telemetry/logger.js";
import type { Metrics } from "../process/telemetry/metrics.js";
import { type BufferBudget, bufferBudget } from "./body/buffer-budget.js";
import { type Connection, endBroken, isAwaitingResponse } from "./connection/connection.js";
import { isLingering, linger } from "./connection/linger.js";
import { failureLog } from "./failure-log.js";
import { type HttpMetrics, httpMetrics } from "./http-metrics.js";
import { HTTP_LIMITS, type HttpLimits } from "./limits.js";
import type { Route } from "./routing/route.js";
import { createRouter } from "./routing/router.js";
import { serveRequest } from "./serve-request.js";

export interface ServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly routes: readonly Route[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly limits?: Partial<HttpLimits>;
  /** The memory for bodies, if others need to see how full it is. Default: one of `limits.maxBufferedBytes`. */
  readonly budget?: BufferBudget;
}

export interface HttpServer {
  readonly port: number;
  /** `http://host:port`, as this machine reaches it. */
  readonly url: string;
  /** Stops accepting connections, lets pending requests finish for at most `graceMs`, then closes what is left. */
  close(graceMs: number): Promise<void>;
}

/** Serves routes over node:http. Rejects if it cannot listen on the port. */
export async function startServer(options: ServerOptions): Promise<HttpServer> {
  const { clock } = options;
  const limits: HttpLimits = { ...HTTP_LIMITS, ...options.limits };
  const budget = options.budget ?? bufferBudget(limits.maxBufferedBytes);
  const metrics = httpMetrics(options.metrics, budget);
  /** Few requests ask for a signal, and only those are aborted when the server closes. */
  const aborts = new Set<AbortController>();
  let isClosing = false;

  const server = createLimitedServer(limits);
  const serving = {
    findRoute: createRouter(options.routes),
    budget,
    trustedProxies: limits.trustedProxies,
    metrics,
    logFailure: failureLog(options.logger, clock),
    aborts,
    isClosing: () => isClosing,
    closeIdleConnections: () => server.closeIdleConnections(),
  };
  server.on("request", (message, response) => serveRequest(serving, message, response, false));
  server.on("checkContinue", (message, response) => serveRequest(serving, message, response, true));
  watchConnections(server, limits, metrics, clock);

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
  server.maxConnections = limits.maxConnections;
  server.timeout = limits.idleTimeoutMs;
  return server;
}

function watchConnections(server: Server, limits: HttpLimits, metrics: HttpMetrics, clock: Clock): void {
  server.on("connection", (socket) => {
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

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog: 1_024 }, () => {
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
