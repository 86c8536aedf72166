import type { Socket } from "node:net";
import type { Clock } from "@sluice/resilience";
import { Client, type Dispatcher } from "undici";
import { type ConnectorOptions, checkedConnector } from "./checked-connector.js";
import { deadlineQueue } from "./deadline-queue.js";
import { describeFailure, type Failure } from "./describe-failure.js";

/** How one exchange ended. Never thrown: every way it can end is one of these. */
export type Exchange =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly retryAfter?: string | undefined;
      /** The first 4 KB of the body, as it came: never inflated. */
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

/** One URL that requests are posted to over connections of its own, so that no other's trouble is in their way. */
export interface Endpoint {
  /** Sends exactly these bytes. `headers` are names and values in turn. */
  post(headers: string[], body: Uint8Array): Promise<Exchange>;
  /** Ends what is under way (`aborted`) and closes all connections. */
  close(): Promise<void>;
}

export interface EndpointOptions extends Omit<ConnectorOptions, "timeoutMs"> {
  readonly url: string;
  readonly clock: Clock;
  /** For look-up, connect, TLS, request and the whole answer together, in milliseconds. */
  readonly timeoutMs: number;
}

/** Makes the endpoint of a URL: over the network, or (in tests) a script. */
export type OpenEndpoint = (options: EndpointOptions) => Endpoint;

/** What is read of an answer at most; the connection is closed then. The status has been said by that time, and counts. */
const LONGEST_ANSWER_BYTES = 64 * 1_024;
/** What is kept of it. */
const KEPT_ANSWER_BYTES = 4 * 1_024;
const LONGEST_HEADERS_BYTES = 16 * 1_024;
/** Interim answers (1xx) that are waited through before one is taken for a receiver that never ends. */
const MOST_INTERIM_ANSWERS = 16;

const ABORTED: Failure = {
  code: "aborted",
  message: "The collector stopped while the request was under way",
};

export function endpoint(options: EndpointOptions): Endpoint {
  const { url, clock, timeoutMs } = options;
  const { origin, pathname, search } = new URL(url);
  const path = pathname + search;
  const connect = checkedConnector(options);
  const all = new Set<Line>();
  /** Lines without a request, the last used last: it is the most likely to be still open. */
  const idle: Line[] = [];
  const timedOut: Failure = {
    code: "timeout",
    message: `No complete answer within ${timeoutMs} ms. Answer first and work afterwards, or make the receiver faster`,
  };

  const openLine = (): Line => {
    const line = new Line(origin, connect, () => {
      all.delete(line);
      const place = idle.lastIndexOf(line);
      if (place >= 0) idle.splice(place, 1);
    });
    all.add(line);
    return line;
  };

  const deadlines = deadlineQueue(clock, timeoutMs);

  const exchange = (
    line: Line,
    headers: string[],
    body: Uint8Array,
    startedAtMs: number,
    onEnd: (ended: Exchange) => void,
  ): void => {
    line.used = true;
    const handler = new ExchangeHandler(line, (ended) => {
      deadline.done();
      line.current = undefined;
      if (ended.kind === "failed" || ended.cut) line.destroy();
      else if (!line.closed) idle.push(line);
      onEnd(toExchange(ended, line, clock.monotonic() - startedAtMs));
    });
    line.current = handler;
    const deadline = deadlines.add(startedAtMs, () => handler.fail(timedOut));
    line.client.dispatch({ method: "POST", path, headers, body }, handler);
  };

  return {
    post: (headers, body) =>
      new Promise((resolve) => {
        const startedAtMs = clock.monotonic();
        const line = idle.pop() ?? openLine();
        if (!line.used) {
          exchange(line, headers, body, startedAtMs, resolve);
          return;
        }
        exchange(line, headers, body, startedAtMs, (first) => {
          // A kept connection that the receiver closed while the request was on its way says nothing about the receiver:
          // the request goes out once more on a fresh one, within the same deadline.
          const isStale =
            first.kind === "failed" && first.failure.code === "connection_lost" && !line.answering;
          if (isStale) exchange(openLine(), headers, body, startedAtMs, resolve);
          else resolve(first);
        });
      }),
    async close() {
      for (const line of all) {
        line.current?.fail(ABORTED);
        line.destroy();
      }
      deadlines.stop();
    },
  };
}

/** One connection, with at most one request on it. */
class Line {
  readonly client: Client;
  /** The request that is on it. */
  current: ExchangeHandler | undefined;
  used = false;
  /** Whether the last request's answer had begun. */
  answering = false;
  closed = false;
  address: string | undefined;
  #socket: Socket | undefined;
  readonly #onClosed: () => void;

  constructor(origin: string, connect: ReturnType<typeof checkedConnector>, onClosed: () => void) {
    this.#onClosed = onClosed;
    this.client = new Client(origin, {
      pipelining: 1,
      // Ours is one deadline over the whole exchange.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: LONGEST_HEADERS_BYTES,
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
    // The receiver (or the keep-alive time) closed it: a new line is opened when one is needed.
    this.client.on("disconnect", () => {
      if (this.current === undefined) this.destroy();
    });
  }

  destroy(): void {
    if (this.closed) return;
    this.closed = true;
    // A socket that is still connecting is not the client's yet.
    this.#socket?.destroy();
    this.client.destroy().catch(() => {});
    this.#onClosed();
  }
}

type Ended =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly retryAfter?: string | undefined;
      readonly body: string;
      readonly cut: boolean;
    }
  | { readonly kind: "failed"; readonly failure: Failure };

function toExchange(ended: Ended, { address }: Line, latencyMs: number): Exchange {
  if (ended.kind === "failed") return { kind: "failed", failure: ended.failure, address, latencyMs };
  const { status, retryAfter, body } = ended;
  return { kind: "answered", status, retryAfter, body, address, latencyMs };
}

/**
 * What undici tells of a request. It speaks undici's raw handler interface: the newer one makes an object of all
 * headers of every answer, of which we want one, and that only when the receiver refuses.
 */
class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #line: Line;
  #onEnd: ((ended: Ended) => void) | undefined;
  #status = 0;
  #retryAfter: string | undefined;
  #interim = 0;
  #received = 0;
  #kept: Buffer[] = [];

  constructor(line: Line, onEnd: (ended: Ended) => void) {
    this.#line = line;
    this.#onEnd = onEnd;
    line.answering = false;
  }

  onConnect(): void {}

  onHeaders(status: number, headers: Buffer[]): boolean {
    this.#line.answering = true;
    if (status < 200) {
      this.#interim += 1;
      if (this.#interim > MOST_INTERIM_ANSWERS) {
        this.fail({
          code: "bad_response",
          message: `More than ${MOST_INTERIM_ANSWERS} interim answers (1xx) and no final one`,
        });
      }
      return true;
    }
    this.#status = status;
    if (status >= 300) this.#retryAfter = headerValue(headers, "retry-after");
    return true;
  }

  onData(chunk: Buffer): boolean {
    const room = KEPT_ANSWER_BYTES - this.#received;
    this.#received += chunk.length;
    // Copied: a slice would keep the whole network buffer alive.
    if (room > 0) this.#kept.push(Buffer.from(chunk.subarray(0, room)));
    if (this.#received > LONGEST_ANSWER_BYTES) this.#answered(true);
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
      retryAfter: this.#retryAfter,
      body,
      cut,
    });
  }

  #end(ended: Ended): void {
    const onEnd = this.#onEnd;
    // What undici still says about a request that has ended (its abortion) is no news.
    this.#onEnd = undefined;
    onEnd?.(ended);
  }
}

function headerValue(headers: readonly Buffer[], name: string): string | undefined {
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (headers[index]?.toString("latin1").toLowerCase() === name)
      return headers[index + 1]?.toString("latin1");
  }
  return undefined;
}
