import { KB } from "@sluice/protocol";

/** What one client, and all of them together, may take from the server. */
export interface HttpLimits {
  /** From a connection's first moment, or a request's first byte, to the end of the headers, in milliseconds. Default: 5_000. */
  readonly headersTimeoutMs: number;
  /** From a request's first byte to its last, in milliseconds. Default: 9_000. */
  readonly requestTimeoutMs: number;
  /** How often the two above are looked at, in milliseconds. Default: 500. */
  readonly timeoutCheckMs: number;
  /** How long an idle connection is kept for the next request, in milliseconds. Default: 65_000, longer than most load balancers keep theirs. */
  readonly keepAliveTimeoutMs: number;
  /** After the last answer of a connection, how long what the client still sends is read and dropped, so that it gets to see the answer, in milliseconds. Default: 5_000. */
  readonly drainTimeoutMs: number;
  /** Without a byte in either direction for this long, a connection over which no answer is awaited is closed, in milliseconds. Default: 60_000. */
  readonly idleTimeoutMs: number;
  /** Request line and headers. Default: 16 KB. */
  readonly maxHeaderBytes: number;
  /** Default: 100. */
  readonly maxHeaders: number;
  /** Default: 10_000; further ones are closed at once. */
  readonly maxConnections: number;
  /** Bodies held in memory, with 4 KB for each request, of all requests that are not answered yet; beyond it requests get 503 `overloaded`. Default: 64 MB. */
  readonly maxBufferedBytes: number;
  /** How many proxies in front of us append to `X-Forwarded-For`; 0: the header is not believed. Default: 0. */
  readonly trustedProxies: number;
}

export const HTTP_LIMITS: HttpLimits = {
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 9_000,
  timeoutCheckMs: 500,
  keepAliveTimeoutMs: 65_000,
  drainTimeoutMs: 5_000,
  idleTimeoutMs: 60_000,
  maxHeaderBytes: 16 * KB,
  maxHeaders: 100,
  maxConnections: 10_000,
  maxBufferedBytes: 64 * KB * KB,
  trustedProxies: 0,
};
