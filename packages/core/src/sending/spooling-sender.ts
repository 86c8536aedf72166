import { backoffDelayMs, type CancelTimer, type Clock } from "@sluice/resilience";
import type { Batch } from "../message/batch.js";
import { type FinalOutcome, reportsOf, type SendReport, type Split } from "./outcome.js";
import { abandonedBy, DeadlineReached } from "./pauses.js";
import type { Sender, Spool, SpooledBatch } from "./sender.js";

export interface SpoolingOptions {
  readonly spool: Spool;
  readonly clock: Clock;
  /** Called for each batch that was sent from the spool. */
  readonly onSent: (report: SendReport) => void;
  /** Called when a file is removed in which some messages could not be read. */
  readonly onDamaged: (kept: SpooledBatch) => void;
}

/**
 * Idle: nothing was kept when the spool was last looked at, and no timer runs.
 *   Entered at construction and when the spool has been emptied. Left by `start()` or a batch that is kept, to emptying.
 * Emptying: one loop sends kept batches, oldest first.
 *   Left when the spool is empty, to idle; when a batch could not be sent, to waiting; at the end of `finish()`, to finished.
 * Waiting: the last try failed, and a timer starts the next one.
 *   Left when the timer fires or `finish()` is called, to emptying.
 * Finished: entered at the end of `finish()`, never left. Batches are still kept, but no longer sent: another process does that.
 */
type State =
  | { readonly kind: "idle" }
  | { readonly kind: "emptying"; readonly done: Promise<void> }
  | { readonly kind: "waiting"; readonly failedTries: number; readonly cancel: CancelTimer }
  | { readonly kind: "finished" };

/** The delay between two tries to empty the spool. Each try also has the retries of any batch. */
const BETWEEN_TRIES = { initialMs: 1_000, maxMs: 60_000, jitter: 0.2 } as const;

/**
 * Keeps batches that `inner` could not deliver. While the spool is not empty, new batches go behind it instead of being sent, so that
 * the order holds. A batch leaves the spool after its answer: a crash in between sends it twice, with the same message ids.
 */
export class SpoolingSender implements Sender<FinalOutcome | Split> {
  readonly #inner: Sender<FinalOutcome | Split>;
  readonly #options: SpoolingOptions;
  readonly #opened: Promise<void>;
  /** Ends what is being sent from the spool. */
  readonly #stop = new AbortController();
  /** Ends the present send from the spool. */
  #sending = new AbortController();
  /** The messages that were kept since `discard()`, until the spool is empty: those before them are removed instead of sent. */
  #keptSinceDiscard: number | undefined;
  #state: State = { kind: "idle" };

  constructor(inner: Sender<FinalOutcome | Split>, options: SpoolingOptions) {
    this.#inner = inner;
    this.#options = options;
    this.#opened = options.spool.open();
  }

  /** Sends the batches that earlier processes left. Does nothing if it has started. */
  start(): void {
    if (this.#state.kind === "idle") this.#startEmptying();
  }

  /** Removes everything that is in the spool, and reports it as discarded. */
  discard(): void {
    if (this.#state.kind === "finished") return;
    this.#keptSinceDiscard = 0;
    if (this.#state.kind !== "emptying") this.#startEmptying();
    else this.#sending.abort(new DeadlineReached("discarded"));
    this.#sending = new AbortController();
  }

  async send(batch: Batch, signal: AbortSignal): Promise<FinalOutcome | Split> {
    await this.#opened;
    // Messages that are being discarded are not in the way.
    const isBehind =
      this.#options.spool.messages > 0 && (!this.#isDiscarding || this.#keptSinceDiscard !== 0);
    if (isBehind && !isDiscarded(signal)) return this.#keep(batch);
    const outcome = signal.aborted ? abandonedBy(signal) : await this.#inner.send(batch, signal);
    if (outcome.kind !== "split") return this.#keepUndelivered(batch, outcome, signal);
    const parts: SendReport[] = [];
    for (const part of outcome.parts) {
      const partOutcome = await this.#keepUndelivered(part.batch, part.outcome, signal);
      parts.push({ batch: part.batch, outcome: partOutcome });
    }
    return { kind: "split", parts };
  }

  /** Resolves when the spool is empty, a batch of it fails, or `signal` aborts. Sends nothing from then on. */
  async finish(signal: AbortSignal): Promise<void> {
    const onAbort = (): void => {
      this.#stop.abort(signal.reason);
      this.#sending.abort(signal.reason);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    await this.#opened;
    // One more try now, instead of when the timer fires.
    if (this.#state.kind === "waiting") this.#startEmptying();
    // A batch that is kept as it ends starts another one.
    while (this.#state.kind === "emptying") await this.#state.done;
    this.#setState({ kind: "finished" });
    signal.removeEventListener("abort", onAbort);
    await this.#options.spool.release();
  }

  /** Whether the oldest messages in the spool are removed instead of sent. */
  get #isDiscarding(): boolean {
    return this.#keptSinceDiscard !== undefined && this.#options.spool.messages > this.#keptSinceDiscard;
  }

  #setState(state: State): void {
    if (this.#state.kind === "waiting") this.#state.cancel();
    this.#state = state;
  }

  #startEmptying(): void {
    const failedTries = this.#state.kind === "waiting" ? this.#state.failedTries : 0;
    this.#setState({ kind: "emptying", done: this.#empty(failedTries) });
  }

  async #empty(failedTries: number): Promise<void> {
    const { clock } = this.#options;
    await this.#opened;
    if (await this.#sendAll()) {
      this.#setState({ kind: "idle" });
      return;
    }
    const delayMs = backoffDelayMs(failedTries + 1, BETWEEN_TRIES, clock.random());
    const cancel = clock.after(delayMs, () => this.#startEmptying());
    this.#setState({ kind: "waiting", failedTries: failedTries + 1, cancel });
  }

  /** Sends kept batches, oldest first. Returns false if one could not be sent. */
  async #sendAll(): Promise<boolean> {
    const { spool } = this.#options;
    for (;;) {
      const kept = await spool.oldest();
      // Checked again, because a batch may have been kept since `oldest` looked.
      if (!kept && spool.messages === 0) {
        this.#keptSinceDiscard = undefined;
        return true;
      }
      if (this.#stop.signal.aborted) return false;
      if (kept && !(await this.#sendOne(kept)) && !this.#isDiscarding) return false;
    }
  }

  /** Sends one kept batch and removes it. Returns false, and keeps it, if it could not be sent. */
  async #sendOne(kept: SpooledBatch): Promise<boolean> {
    const { onSent, onDamaged } = this.#options;
    const { batch } = kept;
    const reports = batch.length > 0 ? reportsOf(batch, await this.#sendOrDiscard(batch)) : [];
    // Parts that were delivered are sent again with the rest: the collector recognizes their ids.
    if (reports.some(({ outcome }) => isUndelivered(outcome))) return false;
    await kept.remove();
    for (const report of reports) onSent(report);
    if (kept.damaged.length > 0) onDamaged(kept);
    return true;
  }

  async #sendOrDiscard(batch: Batch): Promise<FinalOutcome | Split> {
    if (this.#isDiscarding) return { kind: "abandoned", deadline: "discarded" };
    return this.#inner.send(batch, this.#sending.signal);
  }

  async #keepUndelivered(batch: Batch, outcome: FinalOutcome, signal: AbortSignal): Promise<FinalOutcome> {
    if (!isUndelivered(outcome)) return outcome;
    return isDiscarded(signal) ? abandonedBy(signal) : this.#keep(batch);
  }

  async #keep(batch: Batch): Promise<FinalOutcome> {
    const kept = await this.#options.spool.append(batch);
    if (kept !== "kept") return { kind: "spool_failed", reason: kept.reason };
    if (this.#keptSinceDiscard !== undefined) this.#keptSinceDiscard += batch.length;
    if (this.#state.kind === "idle") this.#startEmptying();
    return { kind: "spooled" };
  }
}

/** Whether the batch of this signal was given up by the application. */
function isDiscarded(signal: AbortSignal): boolean {
  return signal.aborted && !isUndelivered(abandonedBy(signal));
}

/** Whether the batch may still be delivered later. */
function isUndelivered(outcome: FinalOutcome): boolean {
  if (outcome.kind === "abandoned") return outcome.deadline !== "discarded";
  return outcome.kind === "exhausted";
}
