import type { Clock } from "@sluice/resilience";
import { contained, reasonOf } from "./errors.js";

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

/** How long an application's own transport may take to close. */
const CLOSE_TIMEOUT_MS = 1_000;

/** Closes a transport. Resolves when it has closed, failed to, or taken too long. */
export async function closeTransport(transport: Transport, clock: Clock): Promise<void> {
  await new Promise<void>((resolve) => {
    const cancel = clock.after(CLOSE_TIMEOUT_MS, resolve);
    const done = (): void => {
      cancel();
      resolve();
    };
    Promise.resolve(contained(() => transport.close?.())).then(done, done);
  });
}

/**
 * Makes one exchange within `timeoutMs`. It never throws, and it ends in time even if the transport ignores its signal: an application's
 * own transport may break its contract.
 */
export async function exchange(
  transport: Transport,
  request: TransportRequest,
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<TransportOutcome> {
  if (signal.aborted) return { kind: "failed", reason: reasonOf(signal.reason) };
  const abort = new AbortController();
  return new Promise((resolve) => {
    const end = (outcome: TransportOutcome): void => {
      cancelTimeout();
      signal.removeEventListener("abort", onAbort);
      resolve(outcome);
    };
    const stop = (reason: Error): void => {
      end({ kind: "failed", reason: reason.message });
      abort.abort(reason);
    };
    const onAbort = (): void => stop(new Error(reasonOf(signal.reason)));
    const cancelTimeout = clock.after(timeoutMs, () => stop(new Error(`No answer within ${timeoutMs} ms`)));
    signal.addEventListener("abort", onAbort, { once: true });
    const fail = (error: unknown): void => end({ kind: "failed", reason: reasonOf(error) });
    try {
      transport
        .send(request, abort.signal)
        .then((outcome) => end(checked(outcome)))
        .then(undefined, fail);
    } catch (error) {
      fail(error);
    }
  });
}

/** Makes a valid outcome of whatever an application's own transport returned. */
function checked(outcome: TransportOutcome | undefined): TransportOutcome {
  if (outcome?.kind === "answered" && typeof outcome.status === "number") {
    const { status, retryAfter, body } = outcome;
    return {
      kind: "answered",
      status,
      retryAfter: retryAfter === undefined ? undefined : String(retryAfter),
      body: String(body),
    };
  }
  const reason = outcome?.kind === "failed" ? String(outcome.reason) : "The transport gave no outcome";
  return { kind: "failed", reason };
}

/** The part of `fetch` that the SDK uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * Sends with `fetch`: for edge runtimes, Bun and Deno, and for tests with msw.
 *
 * @param fetch The function to use. Default: the global one, looked up at each request so that interceptors work.
 * @example
 * const analytics = new Analytics({ writeKey, transport: fetchTransport() });
 */
export function fetchTransport(fetch: Fetch = (url, init) => globalThis.fetch(url, init)): Transport {
  return {
    async send(request, signal) {
      try {
        const { url, method, headers, body } = request;
        const response = await fetch(url, {
          method,
          headers: { ...headers },
          body: body as NonNullable<RequestInit["body"]>,
          redirect: "manual",
          signal,
        });
        return {
          kind: "answered",
          // Browsers hide the status of a redirect that is not followed.
          status: response.type === "opaqueredirect" ? 302 : response.status,
          retryAfter: response.headers.get("retry-after") ?? undefined,
          body: await boundedText(response),
        };
      } catch (error) {
        return { kind: "failed", reason: reasonOf(error) };
      }
    },
  };
}

async function boundedText(response: Response): Promise<string> {
  if (!response.body) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    text += decoder.decode(value, { stream: true });
    if (bytes >= ANSWER_BYTES) {
      // Neither the rest of the body nor an error of its stream matters any more.
      reader.cancel().catch(() => {});
      return text.slice(0, ANSWER_BYTES);
    }
  }
}

/** Sends nothing and answers like a collector that accepted everything. */
export const stubTransport: Transport = {
  send: async () => ({ kind: "answered", status: 200, body: "" }),
};
