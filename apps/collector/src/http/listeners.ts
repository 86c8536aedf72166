import { bufferBudget } from "./body/buffer-budget.js";
import { type HttpMetricsOfProcess, httpMetrics } from "./http-metrics.js";
import { HTTP_LIMITS } from "./limits.js";
import type { Route } from "./routing.js";
import type { HttpServer, ServerOptions, StartServer } from "./server.js";

/** An address to listen on. */
export interface ListenAddress {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

export interface Listeners {
  /** What clients reach. */
  readonly public: HttpServer;
  /** What operators reach; undefined if it is the same. */
  readonly admin: HttpServer | undefined;
  /** Closes both at the same time, so that neither accepts requests while the other finishes its own. */
  close(graceMs: number): Promise<void>;
}

export interface ListenersOptions extends Omit<ServerOptions, "host" | "port" | "routes" | "httpMetrics"> {
  /** Default: made of `metrics`. */
  readonly httpMetrics?: HttpMetricsOfProcess;
  readonly start: StartServer;
  readonly public: ListenAddress & { readonly routes: readonly Route[] };
  readonly admin?: (ListenAddress & { readonly routes: readonly Route[] }) | undefined;
}

/** Listens on one address or on two. They share metrics and the memory for bodies. Rejects if it cannot listen on both. */
export async function startListeners(options: ListenersOptions): Promise<Listeners> {
  const {
    start,
    public: forClients,
    admin: forOperators,
    budget = bufferBudget(options.limits?.maxBufferedBytes ?? HTTP_LIMITS.maxBufferedBytes, options.clock),
    ...shared
  } = options;
  const common = {
    ...shared,
    budget,
    httpMetrics: options.httpMetrics ?? httpMetrics(options.metrics, budget),
  };
  const operators =
    forOperators === undefined ? undefined : await start({ ...common, ...forOperators, name: "admin" });
  try {
    const clients = await start({ ...common, ...forClients, name: "public" });
    return {
      public: clients,
      admin: operators,
      async close(graceMs) {
        await Promise.all([clients.close(graceMs), operators?.close(graceMs)]);
      },
    };
  } catch (error) {
    await operators?.close(0);
    throw error;
  }
}
