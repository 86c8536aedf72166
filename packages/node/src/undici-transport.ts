import {
  ANSWER_BYTES,
  ConfigError,
  fetchTransport,
  integer,
  readOptions,
  reasonOf,
  type Transport,
  type TransportOutcome,
} from "@sluice/core";

import type { Dispatcher, Pool } from "undici";

/** Options of {@link undiciTransport}. */
export interface UndiciTransportOptions {
  /** The most connections to the collector. Default: the client's `maxInFlight`, or 1 if you create the transport yourself. */
  connections?: number | undefined;
  /** How long an idle connection is kept in milliseconds, unless the server sets a time. Default: 30_000, several times `flushAfter`. */
  keepAliveMs?: number | undefined;
  /** Sends through this dispatcher instead of a pool: a proxy agent, or `MockAgent` in tests. It is not closed. */
  dispatcher?: Dispatcher | undefined;
}

/**
 * Sends over undici with keep-alive connections. The default on Node.js. undici is loaded at the first request, not at import. If it
 * cannot be loaded, as in some bundles, the transport says so once on stderr and sends with `fetch`.
 *
 * @throws ConfigError naming option, rule and value.
 * @example
 * const analytics = new Analytics({ writeKey, transport: undiciTransport({ dispatcher: new ProxyAgent(url) }) });
 */
export function undiciTransport(options: UndiciTransportOptions = {}): Transport {
  return undiciTransportWith(options, (line) => console.error(line));
}

/** As `undiciTransport`. `warn` prints a line for the operator. */
export function undiciTransportWith(
  options: UndiciTransportOptions,
  warn: (line: string) => void,
): Transport {
  const { connections, keepAliveMs, dispatcher } = readOptions(() => resolveTransportOptions(options));
  const openPool = async (origin: string): Promise<Pool> => {
    // Loads only the pool: all of undici (fetch, WebSocket, caches) takes twice the time and 14 MB more. undici's types do not
    // have this path, but the version is pinned.
    const { default: Pool } = (await import("undici/lib/dispatcher/pool.js" as string)) as PoolModule;
    // The SDK sets the deadline, so undici's own timeouts are off.
    return new Pool(origin, {
      connections,
      keepAliveTimeout: keepAliveMs,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  };
  const pools = new Pools(openPool, warn);
  const fallback = fetchTransport();

  return {
    async send(request, signal) {
      try {
        const { url, method, headers, body } = request;
        const { origin, pathname } = new URL(url);
        const target = dispatcher ?? (await pools.of(origin));
        if (target === undefined) return await fallback.send(request, signal);
        return await exchange(
          target,
          { origin, path: pathname, method, headers, body: bytesOf(body) },
          signal,
        );
      } catch (error) {
        return { kind: "failed", reason: reasonOf(error) };
      }
    },
    close: () => pools.close(),
  };
}

/** One pool per origin. A client has one origin. */
class Pools {
  readonly #open: (origin: string) => Promise<Pool>;
  readonly #warn: (line: string) => void;
  /** Undefined: undici cannot be loaded. */
  readonly #pools = new Map<string, Promise<Pool | undefined>>();

  constructor(open: (origin: string) => Promise<Pool>, warn: (line: string) => void) {
    this.#open = open;
    this.#warn = warn;
  }

  /** The pool of an origin, or undefined if undici cannot be loaded. */
  of(origin: string): Promise<Pool | undefined> {
    const pool = this.#pools.get(origin) ?? this.#openOrWarn(origin);
    this.#pools.set(origin, pool);
    return pool;
  }

  async close(): Promise<void> {
    for (const pool of this.#pools.values()) await (await pool)?.destroy();
    this.#pools.clear();
  }

  async #openOrWarn(origin: string): Promise<Pool | undefined> {
    try {
      return await this.#open(origin);
    } catch (error) {
      this.#warn(
        `[sluice] undici cannot be loaded: ${reasonOf(error)}. The client sends with fetch instead, and loses nothing. To avoid this line, set \`transport: fetchTransport()\`.`,
      );
      return undefined;
    }
  }
}

function resolveTransportOptions(options: UndiciTransportOptions) {
  if (typeof options !== "object" || options === null)
    throw new ConfigError("undiciTransport", "takes an object of options", options);
  const { connections, keepAliveMs, dispatcher } = options;
  if (dispatcher !== undefined && typeof dispatcher?.dispatch !== "function")
    throw new ConfigError("undiciTransport.dispatcher", "must have a method `dispatch`", dispatcher);
  const given = { "undiciTransport.connections": connections, "undiciTransport.keepAliveMs": keepAliveMs };
  return {
    connections: integer(given, "undiciTransport.connections", 1, 1),
    keepAliveMs: integer(given, "undiciTransport.keepAliveMs", 30_000, 1),
    dispatcher,
  };
}

function bytesOf(body: string | Uint8Array): Uint8Array {
  return typeof body === "string" ? Buffer.from(body) : body;
}

interface PoolModule {
  readonly default: typeof Pool;
}

/** Uses undici's events directly, without the streams and promises of `request()`. */
function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  signal: AbortSignal,
): Promise<TransportOutcome> {
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | undefined;
    let status = 0;
    let retryAfter: string | undefined;
    let bytes = 0;
    const chunks: Uint8Array[] = [];

    const onAbort = (): void => controller?.abort(abortError(signal));
    const end = (outcome: TransportOutcome): void => {
      signal.removeEventListener("abort", onAbort);
      resolve(outcome);
    };
    const answered = (): void =>
      end({ kind: "answered", status, retryAfter, body: Buffer.concat(chunks).toString("utf8") });

    signal.addEventListener("abort", onAbort, { once: true });
    dispatcher.dispatch(request, {
      onRequestStart(started) {
        controller = started;
        if (signal.aborted) onAbort();
      },
      onResponseStart(_controller, statusCode, headers) {
        // A 1xx comes before the answer and says nothing about the batch.
        if (statusCode < 200) return;
        status = statusCode;
        const value = headers["retry-after"];
        retryAfter = Array.isArray(value) ? value[0] : value;
      },
      onResponseData(started, chunk) {
        bytes += chunk.byteLength;
        chunks.push(
          bytes <= ANSWER_BYTES ? chunk : chunk.subarray(0, ANSWER_BYTES - (bytes - chunk.byteLength)),
        );
        if (bytes < ANSWER_BYTES) return;
        // Enough was read to know the verdicts.
        answered();
        started.abort(new Error("The answer is longer than is read"));
      },
      onResponseEnd: answered,
      onResponseError(_controller, error) {
        end({ kind: "failed", reason: reasonOf(error) });
      },
    });
  });
}

function abortError(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error("aborted");
}
