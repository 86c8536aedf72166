import type { Clock } from "@sluice/resilience";
import type { Batch } from "../message/batch.js";
import type { SendOutcome } from "./classify-response.js";
import { decideRetry, type RetryPolicy } from "./decide-retry.js";
import type { Attempt } from "./http-sender.js";
import type { Pauses } from "./pauses.js";
import { abandonedBy, type FinalOutcome } from "./sender.js";

/** An outcome that no retry changes; 413 is left to whoever can split. */
export type RetriedOutcome = FinalOutcome | Extract<SendOutcome, { kind: "too_large" }>;

const TOO_MANY_REQUESTS = 429;

/** Repeats `attempt` while it answers "retryable" and the policy allows. A 429 holds back every batch of the client. */
export function retrying(
  attempt: Attempt,
  policy: RetryPolicy,
  pauses: Pauses,
  clock: Clock,
): (batch: Batch, signal: AbortSignal) => Promise<RetriedOutcome> {
  return async (batch, signal) => {
    await pauses.untilLetThrough(signal);
    const startedMs = clock.monotonic();
    let countedRetries = 0;
    for (let retries = 0; ; retries++) {
      if (signal.aborted) return abandonedBy(signal);
      const outcome = await attempt(batch, retries, signal);
      if (outcome.kind !== "retryable") return outcome;
      const { status, reason, retryAfterMs } = outcome;
      if (signal.aborted) return abandonedBy(signal);

      const elapsedMs = clock.monotonic() - startedMs;
      const decision = decideRetry(policy, {
        countedRetries,
        elapsedMs,
        retryAfterMs,
        random: clock.random(),
      });
      if (decision.kind === "give_up") return { kind: "exhausted", status, reason, attempts: retries + 1 };
      if (status === TOO_MANY_REQUESTS) pauses.holdBack(decision.delayMs);
      if (decision.asked) {
        await pauses.full(decision.delayMs, signal);
      } else {
        countedRetries += 1;
        await pauses.backoff(decision.delayMs, signal);
      }
    }
  };
}
