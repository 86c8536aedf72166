import type { FailureCode } from "../../sender/describe-failure.js";
import type { Exchange } from "../../sender/endpoint.js";

/** What an exchange says about the message at that URL. */
export type Verdict =
  | { readonly kind: "accepted"; readonly reason: string }
  /** May go better later. */
  | { readonly kind: "retry"; readonly reason: string; readonly error: { code: string; message: string } }
  /** Will not go better by itself. */
  | { readonly kind: "refused"; readonly reason: string; readonly error: { code: string; message: string } }
  /** 410: the receiver asks never to be called again. */
  | { readonly kind: "gone"; readonly reason: string; readonly error: { code: string; message: string } }
  /** The collector stopped meanwhile. */
  | { readonly kind: "aborted" };

/** Refusals that waiting may cure, beside all 5xx but 501. */
const RETRIED_STATUSES = new Set([408, 425, 429]);

/** Failures that come before any request, and come again until somebody changes something. */
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
/** Nearly every verdict is one of these. */
const ACCEPTED: readonly Verdict[] = Array.from({ length: 100 }, (_, index) => accepted(200 + index));

function kindOfStatus(status: number): "retry" | "refused" | "gone" {
  if (status === 410) return "gone";
  if (RETRIED_STATUSES.has(status) || (status >= 500 && status !== 501)) return "retry";
  return "refused";
}

function adviceFor(status: number): string {
  if (status >= 300 && status < 400) {
    return `The receiver redirects (${status}); redirects are not followed. Set the URL that it redirects to`;
  }
  switch (status) {
    case 401:
    case 403:
      return `The receiver refuses access (${status}). Check the webhook's headers, and that the receiver verifies with the same secret`;
    case 404:
      return "The receiver knows nothing at that path (404). Check the URL";
    case 405:
      return "The receiver takes no POST at that path (405). Check the URL";
    case 410:
      return "The receiver answered 410 Gone. A URL that does is not called any more before the destination's webhooks are saved again";
    case 413:
      return "The message is too large for the receiver (413). Raise its body limit";
    case 429:
      return "The receiver asks for fewer requests (429). Set the destination's rate limit, or raise the receiver's";
    case 501:
      return "The receiver does not implement this request (501). Check the URL";
    default:
      return status >= 500
        ? `The receiver failed (${status}). Its own logs say why`
        : `The receiver refuses the message (${status}). Its answer may say why`;
  }
}
