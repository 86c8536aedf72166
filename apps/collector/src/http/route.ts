import type { IncomingHttpHeaders } from "node:http";

/** One request as a handler sees it. */
export interface HttpRequest {
  readonly method: string;
  /** The path, without query. */
  readonly path: string;
  /** What stood in the place of the pattern's `:names`, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The query string's parameters, parsed when first asked for. */
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string;
  /** Aborts when the client goes away or the server closes. */
  readonly signal: AbortSignal;
  /** The request has shown a good key or token: its body is no longer counted to the small part of the memory for those without. */
  vouch(): void;
  /** Reads a body of at most `limitBytes` to its end, and keeps nothing of it; rejects as `readBody` does. */
  dropBody(limitBytes: number): Promise<void>;
  /** The body, inflated, at most `limitBytes` of it; rejects with a `CollectorError` (413, 415, 400, 408) otherwise. */
  readBody(limitBytes: number): Promise<Uint8Array>;
}

/** What a handler answers. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is written as JSON; bytes and strings as they are (set `content-type` then). */
  readonly body?: object | string | Uint8Array;
  /**
   * Instead of a body: called with a writer once the head is sent; the answer ends when the promise does. The writer
   * answers false when the client does not keep up; `drained` then resolves when it has, or is gone.
   */
  readonly stream?: (
    write: (chunk: string) => boolean,
    signal: AbortSignal,
    drained: () => Promise<void>,
  ) => Promise<void>;
}

export type Handler = (request: HttpRequest) => Promise<HttpAnswer> | HttpAnswer;

/** An address and what answers there. Methods that are not listed get 405, OPTIONS is answered by the server. */
export interface Route {
  /** `/v1/batch`, `/api/v1/sources/:id`; matched with and without a trailing slash. */
  readonly path: string;
  readonly methods: Readonly<Partial<Record<"GET" | "POST" | "PUT" | "PATCH" | "DELETE", Handler>>>;
  /** Whether pages of any origin may call it (the ingestion API). Default: false. */
  readonly cors?: boolean;
}
