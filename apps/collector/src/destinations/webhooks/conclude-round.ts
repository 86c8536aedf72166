import type { Round, RoundOutcome, TargetRetry } from "../destination.js";
import type { Verdict } from "./classify-exchange.js";

/** How one URL took the message in this round. */
export interface UrlResult {
  readonly url: string;
  readonly verdict: Verdict;
  /** False: it was left out of the round. Default: true. */
  readonly tried?: boolean;
  /** What its `Retry-After` asked for, from now. */
  readonly retryAfterMs?: number | undefined;
}

/**
 * What a round's results at its URLs mean for the message. With `any`, one success ends it; with `each`, a URL that took
 * it is done, the others have retries of their own, and the message is delivered when all are done and none failed for good.
 */
export function concludeRound(
  results: readonly UrlResult[],
  round: Pick<Round, "doneUrls" | "failedUrls" | "waitingUrls">,
  success: "any" | "each",
): RoundOutcome {
  const of = (...kinds: readonly Verdict["kind"][]): UrlResult[] =>
    results.filter(({ verdict }) => kinds.includes(verdict.kind));
  const accepted = of("accepted");
  if (success === "any" && accepted.length > 0) return { kind: "delivered", reason: reasonOf(accepted) };
  if (of("aborted").length > 0) return { kind: "aborted" };

  const retried = of("retry");
  const lost = of("refused", "gone");
  const failedUrls = [...round.failedUrls, ...lost.map(({ url }) => url)];
  if (success === "each" && (retried.length > 0 || round.waitingUrls.length > 0)) {
    const isWhole = round.waitingUrls.length + round.doneUrls.length === 0 && retried.every(wasTried);
    return {
      kind: "retry",
      reason: retried.length > 0 ? reasonOf(retried) : `waits for ${round.waitingUrls.join(", ")}`,
      doneUrls: [...round.doneUrls, ...[...accepted, ...lost].map(({ url }) => url)],
      failedUrls,
      targets: retried.map(
        (result): TargetRetry => ({
          url: result.url,
          tried: wasTried(result),
          retryAfterMs: result.retryAfterMs,
        }),
      ),
      alive: accepted.length > 0 || (isWhole ? false : "unknown"),
    };
  }
  if (retried.length > 0) {
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
  if (failedUrls.length === 0) return { kind: "delivered", reason: reasonOf(accepted) };
  // Nothing is left to try: of `any`, because every URL refused; of `each`, because some did, now or in a former round.
  return {
    kind: "failed",
    reason: lost.length > 0 ? reasonOf(lost) : `failed before at ${round.failedUrls.join(", ")}`,
  };
}

function wasTried({ tried = true }: UrlResult): boolean {
  return tried;
}

/** With one URL its verdict alone; with several each with its URL. Verdicts are few, so reasons are. */
function reasonOf(results: readonly UrlResult[]): string {
  const [only] = results;
  if (results.length === 1 && only !== undefined) return verdictReason(only.verdict);
  return results.map(({ url, verdict }) => `${url}: ${verdictReason(verdict)}`).join("; ");
}

function verdictReason(verdict: Verdict): string {
  return verdict.kind === "aborted" ? "aborted" : verdict.reason;
}
