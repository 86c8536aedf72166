import type { CancelTimer, Clock } from "@sluice/resilience";
import { reasonOf } from "../errors/reason-of.js";
import type { Batch, HeldMessage } from "../message/batch.js";
import type { FlushResult } from "../reporting/reports.js";
import { type DeadlineCode, DeadlineReached } from "../sending/deadline.js";
import { type FinalOutcome, reportsOf, type SendReport, type Split } from "../sending/outcome.js";
import type { Sender } from "../sending/sender.js";
import { type BatchLimits, cutBatch } from "./cut-batch.js";
import { decideFlush, type FlushPolicy } from "./flush-policy.js";
import { FlushWatch } from "./flush-watch.js";
import { MessageQueue } from "./message-queue.js";

export interface BatcherOptions {
  readonly policy: FlushPolicy;
  readonly batch: BatchLimits;
  /** The most messages held, those in flight included. */
  readonly maxMessages: number;
  /** The most bytes held, those in flight included. */
  readonly maxBytes: number;
  readonly maxInFlight: number;
  readonly sender: Sender<FinalOutcome | Split>;
  readonly clock: Clock;
  /** Runs a task in a later turn of the event loop, so that nothing is sent within the caller's turn. */
  readonly defer: (task: () => void) => void;
  /** Called for each batch, or part of one, when it has ended. */
  readonly onOutcome: (report: SendReport) => void;
  /** Whether the results of `flush()` count spooled messages. */
  readonly countsSpooled: boolean;
}

/**
 * When the queued messages that are not due yet become due.
 *
 * Idle: there are none, so no timer runs.
 *   Entered at construction and whenever everything becomes due or is taken. Left by a new message, to waiting or flushing.
 * Waiting: there are some. The timer runs, and makes them due when the time since the last flush is over.
 *   Entered by a message that may wait. Left when a flush makes everything due, or when a batch takes them along.
 * Flushing: messages became due, and a pump is deferred to a later turn of the event loop. No timer runs: whether one is needed for
 *   newer messages is decided when the pump runs.
 *   Entered when something becomes due. Left when the deferred pump runs, to idle or waiting.
 */
type State =
  | { readonly kind: "idle" }
  | { readonly kind: "waiting"; readonly cancelTimer: CancelTimer }
  | { readonly kind: "flushing" };

const IDLE: State = { kind: "idle" };
const FLUSHING: State = { kind: "flushing" };

/**
 * Holds messages until they have been sent. One number says what is to be sent: every message up to the sequence `#dueUpTo` is due. A
 * full batch, the timer, `flush()` and the deadline only raise it. `#pump` is the one place that takes messages from the queue: it takes
 * whole batches while something is due and another request may be made.
 */
export class Batcher {
  readonly #options: BatcherOptions;
  readonly #queue = new MessageQueue();
  readonly #inFlight = new Set<Batch>();
  readonly #watches = new Set<FlushWatch>();
  #state: State = IDLE;
  /** Messages in the queue and in flight. */
  #heldMessages = 0;
  #heldBytes = 0;
  #lastSequence = 0;
  #dueUpTo = 0;
  #lastFlushMs: number;
  /** Ends the attempts and waits of the batches that are sent from now on. */
  #abandon = new AbortController();
  /** Set when a deadline passed: messages up to this sequence get a signal that has aborted, and so are not sent. */
  #abandoned: { readonly upTo: number; readonly signal: AbortSignal } | undefined;

  constructor(options: BatcherOptions) {
    this.#options = options;
    this.#lastFlushMs = options.clock.monotonic();
  }

  /** Messages held, in flight included. */
  get held(): number {
    return this.#heldMessages;
  }

  /** Whether there is no room for another message of any size. */
  get isFull(): boolean {
    return this.#heldMessages >= this.#options.maxMessages || this.#heldBytes >= this.#options.maxBytes;
  }

  /** Queues a message. Returns false if there is no room for it. */
  offer(messageId: string, json: string, bytes: number): boolean {
    if (this.#heldMessages >= this.#options.maxMessages || this.#heldBytes + bytes > this.#options.maxBytes) {
      this.makeRoom();
      return false;
    }
    this.#lastSequence += 1;
    this.#queue.push({ sequence: this.#lastSequence, messageId, json, bytes });
    this.#heldMessages += 1;
    this.#heldBytes += bytes;
    this.#schedule();
    return true;
  }

  /** Sends everything that is queued, whatever the policy says. */
  makeRoom(): void {
    if (this.#dueUpTo < this.#lastSequence) this.#makeAllDue();
  }

  /** Sends everything that is held now. Resolves when all of it has ended, whether delivered or not. */
  flush(): Promise<FlushResult> {
    const watch = new FlushWatch(this.#lastSequence, this.#heldMessages, this.#options.countsSpooled);
    if (!watch.isDone) {
      this.#watches.add(watch);
      this.#makeAllDue();
    }
    return watch.done;
  }

  /**
   * Gives up everything that is held: attempts and waits end. Queued messages still pass through the sender, in order and without a
   * request, because it may keep them in a spool.
   */
  abandonAll(deadline: DeadlineCode): void {
    const abandon = this.#abandon;
    this.#abandon = new AbortController();
    this.#abandoned = { upTo: this.#lastSequence, signal: abandon.signal };
    this.#makeAllDue();
    abandon.abort(new DeadlineReached(deadline));
  }

  /** Everything that is held, oldest first, in batches. For writing it to disk when the process ends at once. */
  snapshot(): readonly Batch[] {
    const batches = [...this.#inFlight].sort((a, b) => firstSequence(a) - firstSequence(b));
    for (let from = 0; from < this.#queue.length; ) {
      const count = cutBatch((offset) => this.#queue.peek(from + offset), this.#options.batch);
      const batch: HeldMessage[] = [];
      for (let i = from; i < from + count; i++) {
        const message = this.#queue.peek(i);
        if (message) batch.push(message);
      }
      batches.push(batch);
      from += count;
    }
    return batches;
  }

  #setState(state: State): void {
    if (this.#state.kind === "waiting") this.#state.cancelTimer();
    this.#state = state;
  }

  /** Decides when the messages that are not due become due. */
  #schedule(): void {
    const notDue = this.#lastSequence - this.#dueUpTo;
    if (notDue === 0) return;
    const { policy, clock } = this.#options;
    const decision = decideFlush(policy, notDue, this.#lastFlushMs);
    if (decision.kind === "flush") this.#makeAllDue();
    else if (this.#state.kind === "idle") {
      const delayMs = Math.max(0, decision.untilMs - clock.monotonic());
      this.#setState({ kind: "waiting", cancelTimer: clock.after(delayMs, () => this.#makeAllDue()) });
    }
  }

  #makeAllDue(): void {
    this.#dueUpTo = this.#lastSequence;
    this.#lastFlushMs = this.#options.clock.monotonic();
    if (this.#state.kind === "flushing") return;
    if (this.#queue.length === 0) {
      this.#setState(IDLE);
      return;
    }
    this.#setState(FLUSHING);
    this.#options.defer(() => {
      this.#setState(IDLE);
      this.#pump();
      this.#schedule();
    });
  }

  #pump(): void {
    while (this.#inFlight.size < this.#options.maxInFlight) {
      const oldest = this.#queue.peek();
      if (!oldest || oldest.sequence > this.#dueUpTo) return;
      void this.#send(this.#takeBatch(), this.#signalFor(oldest));
    }
  }

  #signalFor(oldest: HeldMessage): AbortSignal {
    const abandoned = this.#abandoned;
    return abandoned && oldest.sequence <= abandoned.upTo ? abandoned.signal : this.#abandon.signal;
  }

  #takeBatch(): Batch {
    const batch = this.#queue.take(cutBatch((offset) => this.#queue.peek(offset), this.#options.batch));
    // A batch may contain messages that were not due: they do not count towards the next flush.
    this.#dueUpTo = Math.max(this.#dueUpTo, batch.at(-1)?.sequence ?? 0);
    if (this.#state.kind === "waiting" && this.#dueUpTo === this.#lastSequence) this.#setState(IDLE);
    return batch;
  }

  async #send(batch: Batch, signal: AbortSignal): Promise<void> {
    this.#inFlight.add(batch);
    const reports = await this.#reportsOf(batch, signal);
    this.#inFlight.delete(batch);
    for (const report of reports) this.#release(report);
    this.#pump();
  }

  /** Gives a batch up if its sender throws against its contract, so that the queue goes on. */
  async #reportsOf(batch: Batch, signal: AbortSignal): Promise<readonly SendReport[]> {
    try {
      return reportsOf(batch, await this.#options.sender.send(batch, signal));
    } catch (error) {
      return [{ batch, outcome: { kind: "rejected", status: -1, reason: reasonOf(error) } }];
    }
  }

  #release(report: SendReport): void {
    this.#heldMessages -= report.batch.length;
    for (const { bytes } of report.batch) this.#heldBytes -= bytes;
    this.#options.onOutcome(report);
    for (const watch of this.#watches) {
      watch.count(report);
      if (watch.isDone) this.#watches.delete(watch);
    }
  }
}

function firstSequence(batch: Batch): number {
  return batch[0]?.sequence ?? 0;
}
