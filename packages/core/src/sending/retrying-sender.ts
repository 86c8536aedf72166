import type { Clock } from "@sluice/resilience";
import type { Batch } from "../message/batch.js";
import { decideRetry, type RetryDecision, type RetryPolicy } from "./decide-retry.js";
import type { AttemptOutcome, RetriedOutcome } from "./outcome.js";
import type { Pauses } from "./pauses.js";
import { abandonedBy } from "./pauses.js";
import type { Sender } from "./sender.js";

export interface RetryingOptions {
  readonly policy: RetryPolicy;
  /** The waits of all batches of the client: a 429 delays every batch. */
  readonly pauses: Pauses;
  readonly clock: Clock;
}

/** Repeats the send while `inner` returns "retryable" and the policy allows it. */
export function retryingSender(
  inner: Sender<AttemptOutcome>,
  options: RetryingOptions,
): Sender<RetriedOutcome> {
  return { send: (batch, signal) => sendUntilFinal(inner, options, batch, signal) };
}

const TOO_MANY_REQUESTS = 429;

async function sendUntilFinal(
  inner: Sender<AttemptOutcome>,
  { policy, pauses, clock }: RetryingOptions,
  batch: Batch,
  signal: AbortSignal,
): Promise<RetriedOutcome> {
  await pauses.untilAllowed(signal);
  const startedMs = clock.monotonic();
  let countedRetries = 0;
  for (let attempt = 1; ; attempt++) {
    if (signal.aborted) return abandonedBy(signal);
    const outcome = await inner.send(batch, signal, attempt);
    if (outcome.kind !== "retryable") return outcome;
    if (signal.aborted) return abandonedBy(signal);

    const { status, reason, retryAfterMs } = outcome;
    const elapsedMs = clock.monotonic() - startedMs;
    const random = clock.random();
    const decision = decideRetry(policy, { countedRetries, elapsedMs, retryAfterMs, random });
    if (status === TOO_MANY_REQUESTS) pauses.delayNewBatches(waitOf(decision, retryAfterMs));
    if (decision.kind === "give_up") return { kind: "exhausted", status, reason, attempts: attempt };
    if (!decision.asked) countedRetries += 1;
    await pauses.beforeRetry(decision, signal);
  }
}

/** Also of a batch that is given up: it may have a spool, which sends it again. */
function waitOf(decision: RetryDecision, retryAfterMs = 0): number {
  return decision.kind === "give_up" ? retryAfterMs : decision.delayMs;
}
