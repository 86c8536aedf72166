import type { CancelTimer, Clock } from "@sluice/resilience";
import { reasonOf } from "../errors/reason-of.js";
import type { Batch, HeldMessage } from "../message/batch.js";
import type { FlushResult } from "../reporting/reports.js";
import { type DeadlineCode, DeadlineReached, type Sender, type SendReport } from "../sending/sender.js";
import { type BatchLimits, cutBatch } from "./cut-batch.js";
import { decideFlush, type FlushPolicy } from "./flush-policy.js";
import { FlushWatch } from "./flush-watch.js";
import { MessageQueue } from "./message-queue.js";

export interface BatcherOptions {
  readonly policy: FlushPolicy;
  readonly batch: BatchLimits;
  /** Messages and bytes held at most, those in flight included. */
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly maxInFlight: number;
  readonly sender: Sender;
  readonly clock: Clock;
  /** Runs a task in a later turn of the event loop: nothing is sent in the caller's. */
  readonly defer: (task: () => void) => void;
  readonly onSettled: (report: SendReport) => void;
  readonly countsSpooled: boolean;
}

/**
 * Holds messages until they are sent. What is to be sent now is said by one number: every message up to the sequence
 * `#dueUpTo` is due. A full batch, the timer, `flush()` and the deadline all do nothing but raise it; `#pump` is the one
 * place that takes messages from the queue, and it takes whole batches while something is due and a request may be made.
 */
export class Batcher {
  readonly #options: BatcherOptions;
  readonly #queue = new MessageQueue();
  readonly #inFlight = new Set<Batch>();
  readonly #watches = new Set<FlushWatch>();
  /** Those of the queue and of the batches in flight together. */
  #heldMessages = 0;
  #heldBytes = 0;
  #lastSequence = 0;
  #dueUpTo = 0;
  #lastFlushMs: number;
  #cancelTimer: CancelTimer | undefined;
  #pumpIsDeferred = false;
  /** Ends the attempts and waits of what is sent. */
  #abandon = new AbortController();
  /** Set when time ran out: messages up to this sequence go out with a signal that has aborted, and so not at all. */
  #abandoned: { readonly upTo: number; readonly signal: AbortSignal } | undefined;

  constructor(options: BatcherOptions) {
    this.#options = options;
    this.#lastFlushMs = options.clock.monotonic();
  }

  /** Messages held, in flight included. */
  get held(): number {
    return this.#heldMessages;
  }

  /** Whether there is no room for one more message of any size. */
  get isFull(): boolean {
    return this.#heldMessages >= this.#options.maxMessages || this.#heldBytes >= this.#options.maxBytes;
  }

  /** Takes a message, or answers false where it does not fit. */
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

  /** A refused message is a reason to send, whatever the policy says. */
  makeRoom(): void {
    if (this.#dueUpTo < this.#lastSequence) this.#makeAllDue();
  }

  /** Everything held now goes out; resolves when it has ended, whichever way. */
  flush(): Promise<FlushResult> {
    const watch = new FlushWatch(this.#lastSequence, this.#heldMessages, this.#options.countsSpooled);
    if (!watch.isDone) {
      this.#watches.add(watch);
      this.#makeAllDue();
    }
    return watch.done;
  }

  /**
   * Time is up for everything held: attempts and waits end, and what is queued follows in its order, without being sent.
   * It takes the way of all batches, since at its end there may be a spool.
   */
  abandonAll(deadline: DeadlineCode): void {
    const abandon = this.#abandon;
    this.#abandon = new AbortController();
    this.#abandoned = { upTo: this.#lastSequence, signal: abandon.signal };
    this.#makeAllDue();
    abandon.abort(new DeadlineReached(deadline));
  }

  /** All that is held, oldest first, in batches. For a last word to disk when the process ends at once. */
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

  #schedule(): void {
    const waiting = this.#lastSequence - this.#dueUpTo;
    const decision = decideFlush(this.#options.policy, waiting, this.#lastFlushMs);
    if (decision.kind === "flush") this.#makeAllDue();
    else if (!this.#cancelTimer) {
      const delayMs = Math.max(0, decision.untilMs - this.#options.clock.monotonic());
      this.#cancelTimer = this.#options.clock.after(delayMs, () => this.#makeAllDue());
    }
  }

  #makeAllDue(): void {
    this.#stopTimer();
    this.#dueUpTo = this.#lastSequence;
    this.#lastFlushMs = this.#options.clock.monotonic();
    if (this.#pumpIsDeferred || this.#queue.length === 0) return;
    this.#pumpIsDeferred = true;
    this.#options.defer(() => {
      this.#pumpIsDeferred = false;
      this.#pump();
    });
  }

  #stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
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
    const last = batch.at(-1)?.sequence ?? 0;
    // A batch may reach beyond what was due: its messages are not counted again towards the next flush.
    if (last > this.#dueUpTo) {
      this.#dueUpTo = last;
      if (this.#queue.length === 0) this.#stopTimer();
    }
    return batch;
  }

  async #send(batch: Batch, signal: AbortSignal): Promise<void> {
    this.#inFlight.add(batch);
    const reports = await this.#reportsOf(batch, signal);
    this.#inFlight.delete(batch);
    for (const report of reports) this.#settle(report);
    this.#pump();
  }

  /** A sender does not throw. If one does all the same, its batch is given up: neither the queue nor the host may pay for it. */
  async #reportsOf(batch: Batch, signal: AbortSignal): Promise<readonly SendReport[]> {
    try {
      return await this.#options.sender.send(batch, signal);
    } catch (error) {
      return [{ batch, outcome: { kind: "rejected", status: -1, reason: reasonOf(error) } }];
    }
  }

  #settle(report: SendReport): void {
    this.#heldMessages -= report.batch.length;
    for (const { bytes } of report.batch) this.#heldBytes -= bytes;
    this.#options.onSettled(report);
    for (const watch of this.#watches) {
      watch.count(report);
      if (watch.isDone) this.#watches.delete(watch);
    }
  }
}

function firstSequence(batch: Batch): number {
  return batch[0]?.sequence ?? 0;
}
