import { backoffDelayMs, type CancelTimer, type Clock } from "@sluice/resilience";
import type { Batch } from "../message/batch.js";
import { abandonedBy, type FinalOutcome, type Sender, type SendReport } from "./sender.js";
import type { Spool, SpooledBatch } from "./spool.js";

export interface SpoolingSender extends Sender {
  /** Sends what earlier processes left. */
  start(): void;
  /** Resolves when the spool is empty, a batch of it fails, or `signal` aborts; sends nothing from then on. */
  finish(signal: AbortSignal): Promise<void>;
}

export interface SpoolingOptions {
  readonly inner: Sender;
  readonly spool: Spool;
  readonly clock: Clock;
  /** Told of batches that were sent from the spool. */
  readonly onSettled: (report: SendReport) => void;
  /** Told when a file of the spool is removed of which some messages could not be read. */
  readonly onDamaged: (kept: SpooledBatch) => void;
}

/** Between two tries to empty the spool; each try has the retries of any batch besides. */
const BETWEEN_TRIES = { initialMs: 1_000, maxMs: 60_000, jitter: 0.2 } as const;

/**
 * Keeps what `inner` gives up. While anything is kept, new batches are put behind it instead of being sent, so that the
 * order holds; one loop sends from the oldest on. A batch leaves the spool after it was answered: a crash in between sends
 * it twice, with the same message ids.
 */
export function spoolingSender({
  inner,
  spool,
  clock,
  onSettled,
  onDamaged,
}: SpoolingOptions): SpoolingSender {
  const opened = spool.open();
  const stop = new AbortController();
  let emptying: Promise<void> | undefined;
  let cancelNextTry: CancelTimer | undefined;
  let failedTries = 0;

  /** Sends from the oldest on; false when one could not be sent. */
  const sendKept = async (): Promise<boolean> => {
    for (;;) {
      const kept = await spool.oldest();
      if (!kept) return true;
      if (stop.signal.aborted) return false;
      const reports = kept.batch.length > 0 ? await inner.send(kept.batch, stop.signal) : [];
      // Parts of a batch that were taken are sent again with the rest: the collector knows their ids.
      if (reports.some(({ outcome }) => mayYetArrive(outcome))) return false;
      await kept.remove();
      for (const report of reports) onSettled(report);
      if (kept.damaged.length > 0) onDamaged(kept);
    }
  };

  /** True where a try was waiting. */
  const cancelTry = (): boolean => {
    const waited = cancelNextTry !== undefined;
    cancelNextTry?.();
    cancelNextTry = undefined;
    return waited;
  };

  const empty = (): void => {
    if (emptying || stop.signal.aborted) return;
    cancelTry();
    emptying = (async () => {
      await opened;
      const succeeded = await sendKept();
      emptying = undefined;
      if (stop.signal.aborted) return;
      failedTries = succeeded ? 0 : failedTries + 1;
      if (!succeeded) {
        cancelNextTry = clock.after(backoffDelayMs(failedTries, BETWEEN_TRIES, clock.random()), empty);
      } else if (spool.messages > 0) {
        // A batch was kept between the last look and now.
        empty();
      }
    })();
  };

  const keep = async (batch: Batch): Promise<FinalOutcome> => {
    const kept = await spool.append(batch);
    if (kept !== "kept") return { kind: "spool_failed", reason: kept.reason };
    if (!emptying && !cancelNextTry) empty();
    return { kind: "spooled" };
  };

  return {
    start: empty,
    async send(batch, signal) {
      await opened;
      if (spool.messages > 0) return [{ batch, outcome: await keep(batch) }];
      const reports = signal.aborted
        ? [{ batch, outcome: abandonedBy(signal) }]
        : await inner.send(batch, signal);
      const settled: SendReport[] = [];
      for (const report of reports) {
        const outcome = mayYetArrive(report.outcome) ? await keep(report.batch) : report.outcome;
        settled.push({ batch: report.batch, outcome });
      }
      return settled;
    },
    async finish(signal) {
      const onAbort = (): void => stop.abort(signal.reason);
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
      await opened;
      // One more try now, in place of the one that a timer waits for.
      if (cancelTry()) empty();
      await emptying;
      cancelTry();
      stop.abort();
      signal.removeEventListener("abort", onAbort);
    },
  };
}

/** Whether a batch that ended so could be taken another day. */
function mayYetArrive({ kind }: FinalOutcome): boolean {
  return kind === "exhausted" || kind === "abandoned";
}
