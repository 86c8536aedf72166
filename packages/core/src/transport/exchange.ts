import type { Clock } from "@sluice/resilience";
import { reasonOf } from "../errors/reason-of.js";
import type { Transport, TransportOutcome, TransportRequest } from "./transport.js";

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
