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
 * Decides what a round's results mean for the message. With `any`, one success ends it. With `each`, a URL that took it is done, the
 * others have retries of their own, and the message is delivered when all URLs are done and none failed for good.
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
  // Nothing is left to try. With `any` every URL refused; with `each` at least one did, in this round or before.
  return {
    kind: "failed",
    reason: lost.length > 0 ? reasonOf(lost) : `failed before at ${round.failedUrls.join(", ")}`,
  };
}

/** The URLs that failed are retried, each on its own schedule. */
function retryEach({ accepted, retried, lost, failedUrls }: Sorted, round: RoundBefore): RoundOutcome {
  const triedAll = round.waitingUrls.length + round.doneUrls.length === 0 && retried.every(wasTried);
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
    alive: accepted.length > 0 || (triedAll ? false : "unknown"),
  };
}

/** All URLs that have not refused are tried again together. */
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

/** The verdict of a single URL, or each verdict with its URL. There are few distinct reasons because there are few verdicts. */
function reasonOf(results: readonly UrlResult[]): string {
  const [only] = results;
  if (results.length === 1 && only !== undefined) return verdictReason(only.verdict);
  return results.map(({ url, verdict }) => `${url}: ${verdictReason(verdict)}`).join("; ");
}

function verdictReason(verdict: Verdict): string {
  return verdict.kind === "aborted" ? "aborted" : verdict.reason;
}
