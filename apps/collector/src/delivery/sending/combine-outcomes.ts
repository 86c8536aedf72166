import type { RoundOutcome, TargetRetry } from "../../destinations/destination.js";

type Retrying = Extract<RoundOutcome, { kind: "retry" }>;

/**
 * What the outcomes of the messages that one message became mean for it. It is delivered when all of them are. Otherwise all are sent
 * again, under the same ids, except to URLs that are done with every one of them.
 */
export function combineOutcomes(outcomes: readonly RoundOutcome[]): RoundOutcome {
  const aborted = outcomes.find(({ kind }) => kind === "aborted");
  if (aborted !== undefined) return aborted;
  const retrying = outcomes.filter((outcome): outcome is Retrying => outcome.kind === "retry");
  const [first] = retrying;
  if (first === undefined)
    return outcomes.find(({ kind }) => kind !== "delivered") ?? outcomes[0] ?? NOTHING_TO_SEND;
  const doneUrls = first.doneUrls.filter((url) => retrying.every((one) => one.doneUrls.includes(url)));
  const failedUrls = doneUrls.filter((url) => retrying.some((one) => one.failedUrls.includes(url)));
  const waits = retrying.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
  const targets = retrying.some((one) => one.targets !== undefined)
    ? mergeTargets(retrying.flatMap((one) => one.targets ?? []))
    : undefined;
  return {
    kind: "retry",
    reason: first.reason,
    doneUrls,
    failedUrls,
    alive: aliveOf([
      ...retrying.map(({ alive }) => alive),
      ...(retrying.length < outcomes.length ? [true] : []),
    ]),
    ...(waits.length === 0 ? {} : { retryAfterMs: Math.max(...waits) }),
    ...(targets === undefined ? {} : { targets }),
  };
}

const NOTHING_TO_SEND: RoundOutcome = { kind: "delivered", reason: "nothing to send" };

function aliveOf(all: readonly Retrying["alive"][]): Retrying["alive"] {
  if (all.includes(true)) return true;
  return all.includes("unknown") ? "unknown" : false;
}

/** One entry for each URL, with the longest wait. */
function mergeTargets(targets: readonly TargetRetry[]): readonly TargetRetry[] {
  const byUrl = new Map<string, TargetRetry>();
  for (const target of targets) {
    const { tried = false, retryAfterMs } = byUrl.get(target.url) ?? {};
    const waitMs = Math.max(retryAfterMs ?? -1, target.retryAfterMs ?? -1);
    byUrl.set(target.url, {
      url: target.url,
      tried: tried || target.tried,
      ...(waitMs < 0 ? {} : { retryAfterMs: waitMs }),
    });
  }
  return [...byUrl.values()];
}
