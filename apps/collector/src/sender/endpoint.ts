import type { Socket } from "node:net";
import type { Clock } from "@sluice/resilience";
import type { Dispatcher } from "undici";
import { type ConnectorOptions, checkedConnector } from "./checked-connector.js";
import { deadlineQueue } from "./deadline-queue.js";
import { describeFailure, type Failure } from "./describe-failure.js";
import { Client } from "./undici.js";

/** How an exchange ended. Sending never throws: every end is one of these. */
export type Exchange =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly retryAfter?: string | undefined;
      /** Names and values by turns. Only if the status is 300 or more. */
      readonly headers?: readonly string[] | undefined;
      /** The first 4 KB of the body, never decompressed. */
      readonly body: string;
      readonly address?: string | undefined;
      readonly latencyMs: number;
    }
  | {
      readonly kind: "failed";
      readonly failure: Failure;
      readonly address?: string | undefined;
      readonly latencyMs: number;
    };

/** A URL to post requests to. It has connections of its own, so that other URLs' problems do not affect it. */
export interface Endpoint {
  /** Sends exactly these bytes. `headers`: names and values by turns. */
  post(headers: string[], body: Uint8Array): Promise<Exchange>;
  /** Aborts pending requests (`aborted`) and closes all connections. */
  close(): Promise<void>;
}

export interface EndpointOptions extends Omit<ConnectorOptions, "timeoutMs"> {
  readonly url: string;
  readonly clock: Clock;
  /** Limit for lookup, connect, TLS, request and complete response together, in milliseconds. */
  readonly timeoutMs: number;
}

/** Opens the endpoint of a URL: the network, or a script in tests. */
export type OpenEndpoint = (options: EndpointOptions) => Endpoint;

/** How much of a response is read before the connection is closed. The status has arrived by then, and counts. */
const MAX_ANSWER_BYTES = 64 * 1_024;
/** How much of its body is kept. */
const KEPT_ANSWER_BYTES = 4 * 1_024;
const MAX_HEADERS_BYTES = 16 * 1_024;
/** Interim responses (1xx) to accept before the final one. */
const MAX_INTERIM_ANSWERS = 16;

const ABORTED: Failure = {
  code: "aborted",
  message: "The collector stopped while the request was under way",
};

export function endpoint(options: EndpointOptions): Endpoint {
  const { url, clock, timeoutMs } = options;
  const { origin, pathname, search } = new URL(url);
  const path = pathname + search;
  const connect = checkedConnector(options);
  const all = new Set<EndpointConnection>();
  /** Connections without a request. The last one was used last, so it is most likely still open. */
  const idle: EndpointConnection[] = [];
  const timedOut: Failure = {
    code: "timeout",
    message: `No complete answer within ${timeoutMs} ms. Answer first and work afterwards, or make the receiver faster`,
  };

  const openConnection = (): EndpointConnection => {
    const connection = new EndpointConnection(origin, connect, () => {
      all.delete(connection);
      const place = idle.lastIndexOf(connection);
      if (place >= 0) idle.splice(place, 1);
    });
    all.add(connection);
    return connection;
  };

  const deadlines = deadlineQueue(clock, timeoutMs);

  const exchange = (
    connection: EndpointConnection,
    headers: string[],
    body: Uint8Array,
    startedAtMs: number,
    onEnd: (ended: Exchange) => void,
  ): void => {
    connection.used = true;
    const handler = new ExchangeHandler(connection, (ended) => {
      deadline.done();
      connection.current = undefined;
      if (ended.kind === "failed" || ended.cut) connection.destroy();
      else if (!connection.closed) idle.push(connection);
      onEnd(toExchange(ended, connection, clock.monotonic() - startedAtMs));
    });
    connection.current = handler;
    const deadline = deadlines.add(startedAtMs, () => handler.fail(timedOut));
    connection.client.dispatch({ method: "POST", path, headers, body }, handler);
  };

  return {
    post: (headers, body) =>
      new Promise((resolve) => {
        const startedAtMs = clock.monotonic();
        const connection = idle.pop() ?? openConnection();
        if (!connection.used) {
          exchange(connection, headers, body, startedAtMs, resolve);
          return;
        }
        exchange(connection, headers, body, startedAtMs, (first) => {
          // The receiver may close an idle connection while the request is on its way. That is not a failure of the receiver, so send
          // the request again on a new connection, within the same deadline.
          const isStale =
            first.kind === "failed" && first.failure.code === "connection_lost" && !connection.answering;
          if (isStale) exchange(openConnection(), headers, body, startedAtMs, resolve);
          else resolve(first);
        });
      }),
    async close() {
      for (const connection of all) {
        connection.current?.fail(ABORTED);
        connection.destroy();
      }
      deadlines.stop();
    },
  };
}

/** A connection with at most one pending request. */
class EndpointConnection {
  readonly client: InstanceType<typeof Client>;
  /** The pending request. */
  current: ExchangeHandler | undefined;
  used = false;
  /** Whether a response to the last request has started. */
  answering = false;
  closed = false;
  address: string | undefined;
  #socket: Socket | undefined;
  readonly #onClosed: () => void;

  constructor(origin: string, connect: ReturnType<typeof checkedConnector>, onClosed: () => void) {
    this.#onClosed = onClosed;
    this.client = new Client(origin, {
      pipelining: 1,
      // One deadline covers the whole exchange instead.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_HEADERS_BYTES,
      connect: (options, callback) =>
        connect(
          options,
          (socket) => {
            this.#socket = socket;
          },
          (...[error, socket]) => {
            if (error !== null) {
              callback(error, null);
              return;
            }
            this.address = socket.remoteAddress;
            callback(null, socket);
          },
        ),
    });
    // The receiver or the keep-alive timeout closed it. The next request opens a new one.
    this.client.on("disconnect", () => {
      if (this.current === undefined) this.destroy();
    });
  }

  destroy(): void {
    if (this.closed) return;
    this.closed = true;
    // The client does not own a socket that is still connecting.
    this.#socket?.destroy();
    this.client.destroy().catch(() => {});
    this.#onClosed();
  }
}

type Ended =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly headers: readonly string[] | undefined;
      readonly body: string;
      readonly cut: boolean;
    }
  | { readonly kind: "failed"; readonly failure: Failure };

function toExchange(ended: Ended, { address }: EndpointConnection, latencyMs: number): Exchange {
  if (ended.kind === "failed") return { kind: "failed", failure: ended.failure, address, latencyMs };
  const { status, headers, body } = ended;
  if (headers === undefined) return { kind: "answered", status, body, address, latencyMs };
  const retryAfter = headerValue(headers, "retry-after");
  return { kind: "answered", status, retryAfter, headers, body, address, latencyMs };
}

/**
 * Receives undici's events of a request. It implements the older handler interface, because the newer one builds an object of all
 * headers for every response, which are only needed if the receiver refuses.
 */
class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #connection: EndpointConnection;
  #onEnd: ((ended: Ended) => void) | undefined;
  #status = 0;
  #headers: readonly string[] | undefined;
  #interim = 0;
  #received = 0;
  #kept: Buffer[] = [];

  constructor(connection: EndpointConnection, onEnd: (ended: Ended) => void) {
    this.#connection = connection;
    this.#onEnd = onEnd;
    connection.answering = false;
  }

  onConnect(): void {}

  onHeaders(status: number, headers: Buffer[]): boolean {
    this.#connection.answering = true;
    if (status < 200) {
      this.#interim += 1;
      if (this.#interim > MAX_INTERIM_ANSWERS) {
        this.fail({
          code: "bad_response",
          message: `More than ${MAX_INTERIM_ANSWERS} interim answers (1xx) and no final one`,
        });
      }
      return true;
    }
    this.#status = status;
    if (status >= 300) this.#headers = headers.map((text) => text.toString("latin1"));
    return true;
  }

  onData(chunk: Buffer): boolean {
    const room = KEPT_ANSWER_BYTES - this.#received;
    this.#received += chunk.length;
    // Copy it: a slice would keep the whole network buffer in memory.
    if (room > 0) this.#kept.push(Buffer.from(chunk.subarray(0, room)));
    if (this.#received > MAX_ANSWER_BYTES) this.#answered(true);
    return true;
  }

  onComplete(): void {
    this.#answered(false);
  }

  onError(error: Error): void {
    this.fail(describeFailure(error));
  }

  fail(failure: Failure): void {
    this.#end({ kind: "failed", failure });
  }

  #answered(cut: boolean): void {
    const body = this.#kept.length === 0 ? "" : Buffer.concat(this.#kept).toString("utf8");
    this.#end({
      kind: "answered",
      status: this.#status,
      headers: this.#headers,
      body,
      cut,
    });
  }

  #end(ended: Ended): void {
    const onEnd = this.#onEnd;
    // Ignore later events of undici, such as the abort of a request that has ended.
    this.#onEnd = undefined;
    onEnd?.(ended);
  }
}

function headerValue(headers: readonly string[], name: string): string | undefined {
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (headers[index]?.toLowerCase() === name) return headers[index + 1];
  }
  return undefined;
}
