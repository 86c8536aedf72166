import type { FailureCode } from "../../sender/describe-failure.js";
import type { Exchange } from "../../sender/endpoint.js";
import type { Round, RoundOutcome, TargetRetry } from "../destination.js";

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

/** The result of one URL in a round. */
export interface UrlResult {
  readonly url: string;
  readonly verdict: Verdict;
  /** False if it was skipped in this round. Default: true. */
  readonly tried?: boolean;
  /** The delay that its `Retry-After` asked for. */
  readonly retryAfterMs?: number | undefined;
}

type RoundBefore = Pick<Round, "doneUrls" | "failedUrls" | "waitingUrls">;

interface Sorted {
  readonly accepted: readonly UrlResult[];
  readonly retried: readonly UrlResult[];
  readonly lost: readonly UrlResult[];
  readonly failedUrls: readonly string[];
}

/**
 * Determines a round's outcome from the results of its URLs. With `any`, one success delivers the message. With `each`, a URL that
 * accepted it is done and the others are retried separately. The message is delivered when all URLs are done and none failed permanently.
 */
export function concludeRound(
  results: readonly UrlResult[],
  round: RoundBefore,
  success: "any" | "each",
): RoundOutcome {
  const of = (...kinds: readonly Verdict["kind"][]): UrlResult[] =>
    results.filter(({ verdict }) => kinds.includes(verdict.kind));
  const accepted = of("accepted");
  if (success === "any" && accepted.length > 0) return { kind: "delivered", reason: reasonOf(accepted) };
  if (of("aborted").length > 0) return { kind: "aborted" };

  const lost = of("refused", "gone");
  const failedUrls = [...round.failedUrls, ...lost.map(({ url }) => url)];
  const sorted: Sorted = { accepted, retried: of("retry"), lost, failedUrls };
  if (success === "each" && (sorted.retried.length > 0 || round.waitingUrls.length > 0))
    return retryEach(sorted, round);
  if (sorted.retried.length > 0) return retryAll(sorted, round);
  if (failedUrls.length === 0) return { kind: "delivered", reason: reasonOf(accepted) };
  // Nothing is left to try. With `any`, every URL refused. With `each`, at least one did, in this round or an earlier one.
  return {
    kind: "failed",
    reason: lost.length > 0 ? reasonOf(lost) : `failed in an earlier round at ${round.failedUrls.join(", ")}`,
  };
}

/** Retries each failed URL on its own schedule. */
function retryEach({ accepted, retried, lost, failedUrls }: Sorted, round: RoundBefore): RoundOutcome {
  const triedAll = round.waitingUrls.length + round.doneUrls.length === 0 && retried.every(wasTried);
  return {
    kind: "retry",
    reason: retried.length > 0 ? reasonOf(retried) : `waiting for ${round.waitingUrls.join(", ")}`,
    doneUrls: [...round.doneUrls, ...[...accepted, ...lost].map(({ url }) => url)],
    failedUrls,
    targets: retried.map(
      (result): TargetRetry => ({
        url: result.url,
        tried: wasTried(result),
        retryAfterMs: result.retryAfterMs,
      }),
    ),
    alive: accepted.length > 0 || (triedAll ? false : "unknown"),
  };
}

/** Retries all URLs together, except those that refused. */
function retryAll({ accepted, retried, lost, failedUrls }: Sorted, round: RoundBefore): RoundOutcome {
  const waits = retried.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
  return {
    kind: "retry",
    reason: reasonOf(retried),
    ...(waits.length === 0 ? {} : { retryAfterMs: Math.max(...waits) }),
    doneUrls: [...round.doneUrls, ...lost.map(({ url }) => url)],
    failedUrls,
    alive: accepted.length > 0,
  };
}

function wasTried({ tried = true }: UrlResult): boolean {
  return tried;
}

/** The reason for a single URL, or the reason for each URL with its name. There are few verdicts, so there are few distinct reasons. */
function reasonOf(results: readonly UrlResult[]): string {
  const [only] = results;
  if (results.length === 1 && only !== undefined) return verdictReason(only.verdict);
  return results.map(({ url, verdict }) => `${url}: ${verdictReason(verdict)}`).join("; ");
}

function verdictReason(verdict: Verdict): string {
  return verdict.kind === "aborted" ? "aborted" : verdict.reason;
}
