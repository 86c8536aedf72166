import { KB } from "@sluice/protocol";
import type { ProxyHeaders } from "./connection/forwarded.js";

/** Limits for one client, and for all clients together. */
export interface HttpLimits {
  /** Time from opening the connection, or the first byte of a request, to the end of the headers, in milliseconds. Default: 5_000. */
  readonly headersTimeoutMs: number;
  /** Time from the first byte of a request to its last, in milliseconds. Default: 9_000. */
  readonly requestTimeoutMs: number;
  /** Interval between checks of the two timeouts above, in milliseconds. Default: 500. */
  readonly timeoutCheckMs: number;
  /** How long an idle connection stays open, in milliseconds. Default: 65_000, which is longer than most load balancers keep theirs. */
  readonly keepAliveTimeoutMs: number;
  /** How long after the last response of a connection the client's data is read and dropped, so that it can read the response, in milliseconds. Default: 5_000. */
  readonly drainTimeoutMs: number;
  /** A connection without traffic for this long is closed, unless a response is awaited on it, in milliseconds. Default: 60_000. */
  readonly idleTimeoutMs: number;
  /** Size of request line and headers. Default: 16 KB. */
  readonly maxHeaderBytes: number;
  /** Default: 100. */
  readonly maxHeaders: number;
  /** Beyond it, a new connection takes the place of an idle one of the client address that has the most. Default: 10_000. */
  readonly maxConnections: number;
  /** Memory for the bodies of all pending requests, with 4 KB for each request. Beyond it requests get 503 `overloaded`. Default: 64 MB. */
  readonly maxBufferedBytes: number;
  /** Number of proxies in front whose headers are believed. 0: none. Default: 0. */
  readonly trustedProxies: number;
  /** Which headers the proxies write: `X-Forwarded-…` or `Forwarded`. The other kind is ignored. Default: "x-forwarded". */
  readonly proxyHeaders: ProxyHeaders;
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
  proxyHeaders: "x-forwarded",
};
