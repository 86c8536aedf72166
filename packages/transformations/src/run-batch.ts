import type { BatchAnswer, Stopped, ThreadResult } from "./thread/answer.js";

/** So many messages in a row may each end their run, before the others of the batch fail unseen. */
const CULPRITS_IN_A_ROW = 3;
/** A batch may be stopped so often, each time after a deadline, before the others of it fail unseen. */
const STOPS = 10;

/**
 * Finds a result for each of `count` messages. `attempt` runs those from one index up to another, and may be stopped. Then the first
 * message without a result runs again at the head of the next attempt, where it has the whole deadline: if that is stopped too before it
 * has a result, it is the culprit. If nobody knows which message was running, they run one by one up to the culprit.
 */
export async function runBatch(
  count: number,
  attempt: (from: number, to: number) => Promise<BatchAnswer>,
): Promise<readonly ThreadResult[]> {
  const results: ThreadResult[] = [];
  let stops = 0;
  let inARow = 0;
  let isOneByOne = false;
  while (results.length < count) {
    const from = results.length;
    const to: number = isOneByOne ? from + 1 : count;
    const { done, stopped }: BatchAnswer = await attempt(from, to);
    results.push(...done);
    if (done.length > 0) inARow = 0;
    if (stopped === undefined) continue;
    stops++;
    isOneByOne = !stopped.isKnown && to > from + 1;
    if (done.length === 0 && !isOneByOne) {
      results.push(failed(stopped));
      inARow++;
    }
    const reason = endOf(stopped, inARow, stops >= STOPS);
    if (reason === undefined) continue;
    const failure = { ...stopped.failure, message: stopped.failure.message + reason };
    while (results.length < count) results.push(failed({ failure, logs: [] }));
  }
  return results;
}

/** Why the rest of the batch is not tried, to be read after what happened last; undefined if it is. */
function endOf({ failure }: Pick<Stopped, "failure">, inARow: number, isOver: boolean): string | undefined {
  if (failure.code === "closed") return "";
  if (isOver) return "; its batch took too long before";
  return inARow < CULPRITS_IN_A_ROW ? undefined : "; so did others before it, and it was not tried";
}

function failed({ failure, logs }: Pick<Stopped, "failure" | "logs">): ThreadResult {
  return { kind: "failed", ...failure, logs };
}
