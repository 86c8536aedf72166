import type { BatchLimits, BatchResult, DeliversBatches } from "@sluice/destination";
import type { Clock } from "@sluice/resilience";
import { Batches, type GatheredBatch } from "../batches/batches.js";
import type { Destination, RoundOutcome } from "../destination.js";
import { type Attempts, type Concluded, type Ended, isResult, recorded } from "./attempts.js";
import { erased, erases, publicMessage, type RunnerParts } from "./deliver-messages.js";

const LIMITS: Required<BatchLimits> = {
  maxMessages: 10_000,
  maxBytes: 16 * 1_024 * 1_024,
  maxAgeMs: 60_000,
};

/** A destination whose definition delivers batches. */
export function deliverBatches(
  open: DeliversBatches,
  { attempts, flow, release, clock, limits = {} }: RunnerParts & { clock: Clock; limits?: BatchLimits },
): Destination {
  const { maxMessages, maxBytes, maxAgeMs } = { ...LIMITS, ...limits };
  const batches = new Batches({
    clock,
    maxMessages,
    maxAgeMs,
    isAlone: (message) => erases(open, message),
    send: (batch) => sendBatch(open, batch, attempts),
  });
  return {
    // While one batch is sent, the next one is gathered.
    flow: { ...flow, concurrency: 2 * maxMessages, maxBytes, order: "none" },
    batches,
    deliver: (message, round) => batches.deliver(message, round),
    close() {
      batches.close();
      attempts.abort();
      return release();
    },
  };
}

async function sendBatch(
  open: DeliversBatches,
  { id, items }: GatheredBatch,
  attempts: Attempts,
): Promise<readonly RoundOutcome[]> {
  const number = items.reduce((most, { round }) => Math.max(most, round.number), 1);
  const isLast = items.every(({ round }) => round.isLast);
  const traces = items.map(({ round }) => round.startTrace?.());
  const { ended, timed } = await attempts.run<BatchResult>((signal) => {
    const attempt = { number, isLast, signal };
    const [first] = items;
    const erasing = first && erased(open, first.message, attempt);
    if (erasing !== undefined) return erasing;
    const messages = items.map(({ message }, index) => publicMessage(message, traces[index]));
    return open.deliverBatch({ id, messages }, attempt);
  });
  const results = concludeEach(ended, items.length, attempts);
  items.forEach(({ round }, index) => {
    round.record({ ...timed, ...recorded(results[index] ?? {}, round) }, traces[index]);
  });
  return results.map(({ outcome }) => outcome);
}

/** What the end of a batch means for each of its messages. Those that end alike share the result. */
function concludeEach(ended: Ended<BatchResult>, count: number, attempts: Attempts): readonly Concluded[] {
  const results = new Array<Concluded>(count).fill(attempts.conclude(ended));
  const others = "others" in ended && Array.isArray(ended.others) ? ended.others : [];
  for (const { index, result } of others)
    if (Number.isInteger(index) && index >= 0 && index < count && isResult(result))
      results[index] = attempts.conclude(result);
  return results;
}
