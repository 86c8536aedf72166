/** One HTTP request that carries a batch. */
export interface TransportRequest {
  readonly url: string;
  readonly method: "POST";
  /** All headers except `Host` and `Content-Length`. Names are lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** How one exchange ended. */
export type TransportOutcome =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** The value of the `Retry-After` header. */
      readonly retryAfter?: string | undefined;
      /** The first {@link ANSWER_BYTES} of the body at most, as text. */
      readonly body: string;
    }
  /** No complete answer came, for example because the connection was refused or reset, or the signal aborted. */
  | { readonly kind: "failed"; readonly reason: string };

/**
 * Makes one HTTP exchange. It never throws: every way it can end is a `TransportOutcome`. It does not follow redirects, and it
 * ends soon after `signal` aborts. The SDK sets the deadline.
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
 * How much of an answer is read, in bytes. Verdicts on a full batch of 2,500 messages take about 400 KB, so a longer answer is not the
 * collector's.
 */
export const ANSWER_BYTES = 1_048_576;
