import type { IncomingHttpHeaders } from "node:http";

/** A request as handlers see it. */
export interface HttpRequest {
  readonly method: string;
  /** The path, without query. */
  readonly path: string;
  /** The values of the pattern's `:names`, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The parameters of the query string, parsed on first use. */
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string;
  /** The host names under which the client reached the collector: of the `Host` header, then of a trusted proxy. */
  readonly hosts: readonly string[];
  /** Scheme, host and port under which the client reached the collector. Throws `invalid_request` if the headers do not say it. */
  readonly origin: string;
  /** Whether the client is on this machine, without a proxy in between. */
  readonly isLocal: boolean;
  /** Aborts when the client disconnects or the server closes. */
  readonly signal: AbortSignal;
  /** Call it when the request has shown a valid key or token: its body no longer counts to the small share of memory for requests without. */
  vouch(): void;
  /** Reads a body of at most `limitBytes` to its end and drops it. Rejects like `readBody`. */
  dropBody(limitBytes: number): Promise<void>;
  /** Reads and decompresses a body of at most `limitBytes`; rejects with a `CollectorError` (413, 415, 400, 408, 503) otherwise. */
  readBody(limitBytes: number): Promise<Uint8Array>;
}

/** The result of a handler. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is written as JSON; bytes and strings as they are (set `content-type` then). */
  readonly body?: object | string | Uint8Array;
  /**
   * Instead of a body: called with a writer once the head is sent. The response ends when the promise settles. The writer returns
   * false if the client does not keep up; `drained` then resolves when it has caught up or disconnected.
   */
  readonly stream?: (
    write: (chunk: string | Uint8Array) => boolean,
    signal: AbortSignal,
    drained: () => Promise<void>,
  ) => Promise<void>;
}

export type Handler = (request: HttpRequest) => Promise<HttpAnswer> | HttpAnswer;

/** A path and its handlers. The server responds with 405 to other methods, and handles OPTIONS itself. */
export interface Route {
  /** `/v1/batch`, `/api/v1/sources/:id`; matches with and without a trailing slash. */
  readonly path: string;
  readonly methods: Readonly<Partial<Record<"GET" | "POST" | "PUT" | "PATCH" | "DELETE", Handler>>>;
  /** It is the page for addresses that do not exist: only browsers that ask for a page get it, others a JSON 404. Default: false. */
  readonly isNotFoundPage?: boolean;
  /** Whether pages of any origin may call it (the ingestion API). Default: false. */
  readonly cors?: boolean;
}
