/** One HTTP request that carries a batch. */
export interface TransportRequest {
  readonly url: string;
  readonly method: "POST";
  /** Complete but for `Host` and `Content-Length`. Names are lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** How one exchange ended. */
export type TransportOutcome =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** The `Retry-After` header as it came. */
      readonly retryAfter?: string | undefined;
      /** At most {@link ANSWER_BYTES} of the body, as text; the rest is not read. */
      readonly body: string;
    }
  /** No whole answer came: refused, reset, unresolved, aborted. */
  | { readonly kind: "failed"; readonly reason: string };

/**
 * Makes one HTTP exchange. Never throws: every way it can end is a `TransportOutcome`. Redirects are not followed.
 * It ends soon after `signal` aborts; the SDK sets the deadline.
 *
 * Bring your own by implementing `send`:
 *
 * @example
 * const transport: Transport = {
 *   async send({ url, method, headers, body }, signal) {
 *     const answer = await myHttp(url, { method, headers, body, signal });
 *     return { kind: "answered", status: answer.status, body: await answer.text() };
 *   },
 * };
 */
export interface Transport {
  send(request: TransportRequest, signal: AbortSignal): Promise<TransportOutcome>;
  /** Releases sockets. Called once, by `close()`. */
  close?(): Promise<void> | void;
}

/**
 * How much of an answer is read: verdicts on a full batch of 2,500 messages take about 400 KB; a server that sends more
 * than this sends something else.
 */
export const ANSWER_BYTES = 1_048_576;
