import type { FailureCode } from "../../sender/describe-failure.js";
import type { Exchange } from "../../sender/endpoint.js";

/** The result of an exchange for a message at one URL. */
export type Verdict =
  | { readonly kind: "accepted"; readonly reason: string }
  /** A temporary failure: retry later. */
  | { readonly kind: "retry"; readonly reason: string; readonly error: { code: string; message: string } }
  /** A permanent failure: a retry would fail again. */
  | { readonly kind: "refused"; readonly reason: string; readonly error: { code: string; message: string } }
  /** 410 Gone: the receiver asks not to be called again. */
  | { readonly kind: "gone"; readonly reason: string; readonly error: { code: string; message: string } }
  /** The collector stopped during the exchange. */
  | { readonly kind: "aborted" };

/** Statuses to retry, in addition to all 5xx except 501. */
const RETRIED_STATUSES = new Set([408, 425, 429]);

/** Failures that happen before a request is sent and persist until someone changes the configuration. */
const LASTING_FAILURES: ReadonlySet<FailureCode> = new Set(["certificate_invalid", "address_not_allowed"]);

export function classifyExchange(exchange: Exchange): Verdict {
  if (exchange.kind === "failed") {
    const { code, message } = exchange.failure;
    if (code === "aborted") return { kind: "aborted" };
    const kind = LASTING_FAILURES.has(code) ? "refused" : "retry";
    return {
      kind,
      reason: LASTING_FAILURES.has(code) ? `${code}: ${message}` : code,
      error: { code, message },
    };
  }
  const { status } = exchange;
  if (status >= 200 && status < 300) return ACCEPTED[status - 200] ?? accepted(status);
  return {
    kind: kindOfStatus(status),
    reason: `HTTP ${status}`,
    error: { code: `http_${status}`, message: adviceFor(status) },
  };
}

function accepted(status: number): Verdict {
  return { kind: "accepted", reason: `HTTP ${status}` };
}
/** One verdict per 2xx status, allocated once because nearly every exchange returns one. */
const ACCEPTED: readonly Verdict[] = Array.from({ length: 100 }, (_, index) => accepted(200 + index));

function kindOfStatus(status: number): "retry" | "refused" | "gone" {
  if (status === 410) return "gone";
  if (RETRIED_STATUSES.has(status) || (status >= 500 && status !== 501)) return "retry";
  return "refused";
}

function adviceFor(status: number): string {
  if (status >= 300 && status < 400) {
    return `The receiver responded with a redirect (${status}), which is not followed. Set the URL to the redirect's target`;
  }
  switch (status) {
    case 401:
    case 403:
      return `The receiver denied access (${status}). Check the webhook's headers, and that the receiver uses the same signing secret`;
    case 404:
      return "The receiver found nothing at this path (404). Check the URL";
    case 405:
      return "The receiver does not accept POST at this path (405). Check the URL";
    case 410:
      return "The receiver responded with 410 Gone, so this URL is disabled. Enable it again on the destination's page";
    case 413:
      return "The message is too large for the receiver (413). Raise its body limit";
    case 429:
      return "The receiver is rate limiting requests (429). Set a rate limit on the destination, or raise the receiver's limit";
    case 501:
      return "The receiver does not implement this request (501). Check the URL";
    default:
      return status >= 500
        ? `The receiver failed (${status}). Check the receiver's logs`
        : `The receiver rejected the message (${status}). Check its response body`;
  }
}
