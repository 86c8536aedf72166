import type { Round, RoundOutcome, TargetRetry } from "../destination.js";
import type { Verdict } from "./classify-exchange.js";

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
