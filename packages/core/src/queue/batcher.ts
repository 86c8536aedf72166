import { reasonOf } from "../errors.js";
import type { Batch, HeldMessage } from "../message/batch.js";
import type { FlushResult } from "../reporting/reports.js";
import { type FinalOutcome, reportsOf, type SendReport, type Split } from "../sending/outcome.js";
import { abandonedBy, type DeadlineCode, DeadlineReached } from "../sending/pauses.js";
import type { Sender } from "../sending/sender.js";
import { FlushWatch } from "./flush-watch.js";
import { type BatchLimits, cutBatch, InFlight, MessageQueue } from "./message-queue.js";
import { exceededBound, type QueueBound, type QueueLimits, type QueueLoad, roomFor } from "./queue-limits.js";
import { RequestScheduler } from "./request-scheduler.js";
import type { Outbox, Scheduler } from "./scheduler.js";
import { type TimerOptions, TimerScheduler } from "./timer-scheduler.js";

export interface BatcherOptions extends TimerOptions {
  readonly batch: BatchLimits;
  readonly limits: QueueLimits;
  readonly sender: Sender<FinalOutcome | Split>;
  /** Called for each batch, or part of one, when it has ended. */
  readonly onOutcome: (report: SendReport) => void;
  /** Whether the results of `flush()` count spooled messages. */
  readonly countsSpooled: boolean;
  /** As in `Platform`. Present: only a flush sends, and it sends within its own request. */
  readonly isInRequest?: (() => boolean) | undefined;
  /** Called if messages wait for longer than `flushAfterMs` because nobody flushes. */
  readonly onUnsent?: (() => void) | undefined;
}

/**
 * Holds messages until they have been sent. One number says what is to be sent: every message up to the sequence `#dueUpTo` is due. A
 * full batch, the timer, `flush()` and the deadline only raise it. The scheduler decides when the timer raises it, and when whole batches
 * of what is due are taken from the queue and sent.
 */
export class Batcher {
  readonly #options: BatcherOptions;
  readonly #queue = new MessageQueue();
  readonly #inFlight = new InFlight();
  readonly #watches = new Set<FlushWatch>();
  readonly #scheduler: Scheduler;
  /** What is in the queue and in flight. */
  readonly #load = { messages: 0, bytes: 0 };
  readonly #peak = { messages: 0, bytes: 0 };
  #lastSequence = 0;
  #dueUpTo = 0;
  /** Ends the attempts and waits of the batches that are sent from now on. */
  #abandon = new AbortController();
  /**
   * What was given up and is still held, oldest first: messages up to a sequence get a signal that has aborted, and so are not sent. The
   * first entry counts, so that a deadline does not keep what was discarded before it.
   */
  #abandoned: readonly { readonly upTo: number; readonly signal: AbortSignal }[] = [];

  constructor(options: BatcherOptions) {
    this.#options = options;
    const { isInRequest, onUnsent, maxInFlight, clock, policy } = options;
    const outbox = this.#outbox();
    this.#scheduler =
      isInRequest === undefined
        ? new TimerScheduler(outbox, options)
        : new RequestScheduler(outbox, {
            ...{ isInRequest, onUnsent, maxInFlight, clock },
            unsentAfterMs: policy.flushAfterMs,
            flush: () => this.flush(),
          });
  }

  /** Messages held, in flight included. */
  get held(): number {
    return this.#load.messages;
  }

  /** What is held, in flight included. */
  get load(): QueueLoad {
    return this.#load;
  }

  /** The most that was held at once. */
  get peak(): QueueLoad {
    return this.#peak;
  }

  /** A call begins. Returns the bound that leaves no room for a message of any size, and then sends what is queued. */
  admit(): QueueBound | undefined {
    this.#scheduler.admitted();
    return this.#boundFor(1);
  }

  /** Queues a message. Returns the bound that leaves no room for it. */
  offer({ bytes, ...message }: Omit<HeldMessage, "sequence">): QueueBound | undefined {
    const bound = this.#boundFor(bytes);
    if (bound !== undefined) return bound;
    this.#lastSequence += 1;
    this.#queue.push({ sequence: this.#lastSequence, bytes, ...message });
    this.#count(bytes);
    this.#scheduler.queued();
    return undefined;
  }

  /** Resolves when a message of any size fits. */
  ready(): Promise<void> {
    return this.#scheduler.ready();
  }

  /** Resolves all pending `ready()`, because no call needs room any more. */
  wakeAll(): void {
    this.#scheduler.wakeAll();
  }

  /**
   * Sends everything that is held now. Resolves when all of it has ended, whether delivered or not, or after `timeoutMs`. Where no request
   * can be made now, it resolves at once.
   */
  flush(timeoutMs?: number): Promise<FlushResult> {
    const { countsSpooled, clock } = this.#options;
    const { canSend } = this.#scheduler;
    const counts = { spooled: countsSpooled, queued: timeoutMs !== undefined || !canSend };
    const watch = new FlushWatch(this.#lastSequence, this.#load.messages, counts);
    if (watch.isDone) return watch.done;
    if (!canSend) {
      watch.expire();
      return watch.done;
    }
    this.#watches.add(watch);
    this.#scheduler.flushing(watch);
    this.#makeAllDue();
    if (timeoutMs !== undefined) {
      const cancel = clock.after(timeoutMs, () => {
        this.#watches.delete(watch);
        watch.expire();
      });
      void watch.done.then(cancel);
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
    const oldest = this.#oldestSequence();
    const held = this.#abandoned.filter(({ upTo }) => upTo >= oldest);
    this.#abandoned = [...held, { upTo: this.#lastSequence, signal: abandon.signal }];
    this.#scheduler.abandoned();
    this.#makeAllDue();
    abandon.abort(new DeadlineReached(deadline));
  }

  /** Everything that is held, oldest first, in batches. For writing it to disk when the process ends at once. */
  snapshot(): readonly Batch[] {
    const batches = [...this.#scheduler.stranded, ...this.#inFlight.oldestFirst()];
    for (let from = 0; from < this.#queue.length; ) {
      const count = this.#cutBatch(from);
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

  /** Whether a batch of `snapshot()` was discarded and waits only for its report. */
  isDiscarded(batch: Batch): boolean {
    return abandonedBy(this.#signalFor(batch)).deadline === "discarded";
  }

  #outbox(): Outbox {
    const batcher = this;
    return {
      inFlight: this.#inFlight,
      get notDue() {
        return batcher.#lastSequence - batcher.#dueUpTo;
      },
      get dueUpTo() {
        return batcher.#dueUpTo;
      },
      get room() {
        return roomFor(batcher.#options.limits, batcher.#load);
      },
      makeAllDue: () => this.#makeAllDue(),
      sendNext: (upTo) => {
        const oldest = this.#queue.peek();
        if (!oldest || oldest.sequence > upTo) return undefined;
        return this.#send(this.#takeBatch());
      },
      resend: (batch) => this.#send(batch),
    };
  }

  #count(bytes: number): void {
    const load = this.#load;
    const peak = this.#peak;
    load.messages += 1;
    load.bytes += bytes;
    peak.messages = Math.max(peak.messages, load.messages);
    peak.bytes = Math.max(peak.bytes, load.bytes);
  }

  /** The bound that a message of `bytes` would exceed. */
  #boundFor(bytes: number): QueueBound | undefined {
    const bound = exceededBound(this.#options.limits, this.#load, bytes);
    if (bound !== undefined) this.#scheduler.full();
    return bound;
  }

  #makeAllDue(): void {
    this.#dueUpTo = this.#lastSequence;
    this.#scheduler.due();
  }

  /** A batch has one signal. */
  #signalFor([first]: Batch): AbortSignal {
    const sequence = first?.sequence ?? 0;
    return this.#abandoned.find(({ upTo }) => sequence <= upTo)?.signal ?? this.#abandon.signal;
  }

  /** The sequence of the oldest message that is held. */
  #oldestSequence(): number {
    const oldest = [...this.#scheduler.stranded, ...this.#inFlight.oldestFirst()].map(([first]) => first);
    return Math.min(
      ...[...oldest, this.#queue.peek()].map((message) => message?.sequence ?? Number.POSITIVE_INFINITY),
    );
  }

  /** How many messages from the place `from` of the queue make a batch. It has one signal, so it ends where abandoned messages end. */
  #cutBatch(from: number): number {
    const first = this.#queue.peek(from)?.sequence ?? 0;
    const last = this.#abandoned.find(({ upTo }) => first <= upTo)?.upTo ?? Number.POSITIVE_INFINITY;
    return cutBatch((offset) => {
      const message = this.#queue.peek(from + offset);
      return message && message.sequence <= last ? message : undefined;
    }, this.#options.batch);
  }

  #takeBatch(): Batch {
    const batch = this.#queue.take(this.#cutBatch(0));
    // A batch may contain messages that were not due: they do not count towards the next flush.
    this.#dueUpTo = Math.max(this.#dueUpTo, batch.at(-1)?.sequence ?? 0);
    if (this.#dueUpTo === this.#lastSequence) this.#scheduler.emptied();
    return batch;
  }

  async #send(batch: Batch): Promise<void> {
    this.#inFlight.add(batch, this.#options.clock.monotonic());
    const reports = await this.#reportsOf(batch);
    if (!this.#inFlight.remove(batch)) return;
    for (const report of reports) this.#release(report);
    this.#scheduler.ended();
  }

  /** Gives a batch up if its sender throws against its contract, so that the queue goes on. */
  async #reportsOf(batch: Batch): Promise<readonly SendReport[]> {
    try {
      return reportsOf(batch, await this.#options.sender.send(batch, this.#signalFor(batch)));
    } catch (error) {
      return [{ batch, outcome: { kind: "rejected", status: -1, reason: reasonOf(error) } }];
    }
  }

  #release(report: SendReport): void {
    this.#load.messages -= report.batch.length;
    for (const { bytes, heldBytes = bytes } of report.batch) this.#load.bytes -= heldBytes;
    this.#options.onOutcome(report);
    for (const watch of this.#watches) {
      watch.count(report);
      if (watch.isDone) this.#watches.delete(watch);
    }
  }
}
