import type { CancelTimer, Clock } from "@sluice/resilience";
import { reasonOf } from "../errors/reason-of.js";
import type { Batch, HeldMessage } from "../message/batch.js";
import type { FlushResult } from "../reporting/reports.js";
import { abandonedBy, type DeadlineCode, DeadlineReached } from "../sending/deadline.js";
import { type FinalOutcome, reportsOf, type SendReport, type Split } from "../sending/outcome.js";
import type { Sender } from "../sending/sender.js";
import { type BatchLimits, cutBatch } from "./cut-batch.js";
import { decideFlush, type FlushPolicy } from "./flush-policy.js";
import { FlushWatch } from "./flush-watch.js";
import { InFlight, STRANDED_AFTER_MS } from "./in-flight.js";
import { MessageQueue } from "./message-queue.js";
import { exceededBound, type QueueBound, type QueueLimits, type QueueLoad, roomFor } from "./queue-limits.js";
import { RoomWaiters } from "./room-waiters.js";

export interface BatcherOptions {
  readonly policy: FlushPolicy;
  readonly batch: BatchLimits;
  readonly limits: QueueLimits;
  readonly maxInFlight: number;
  readonly sender: Sender<FinalOutcome | Split>;
  readonly clock: Clock;
  /** Runs a task in a later turn of the event loop, so that nothing is sent within the caller's turn. */
  readonly defer: (task: () => void) => void;
  /** Keeps the process alive until the returned function is called. */
  readonly hold: () => () => void;
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
 *
 * With `isInRequest` there are no timers and no pump, because both would end with the request that started them. Each flush drains the
 * queue itself, so that what it sends lives as long as the request that waits for it.
 */
export class Batcher {
  readonly #options: BatcherOptions;
  readonly #queue = new MessageQueue();
  readonly #inFlight = new InFlight();
  /** Batches whose request ended before they did. The next drain sends them first. */
  readonly #stranded: Batch[] = [];
  readonly #watches = new Set<FlushWatch>();
  readonly #waiters: RoomWaiters;
  #state: State = IDLE;
  /** What is in the queue and in flight. */
  readonly #load = { messages: 0, bytes: 0 };
  readonly #peak = { messages: 0, bytes: 0 };
  #lastSequence = 0;
  #dueUpTo = 0;
  #lastFlushMs: number;
  /** With `isInRequest`: since when messages wait for a flush. */
  #unsentSinceMs: number | undefined;
  /** Ends the attempts and waits of the batches that are sent from now on. */
  #abandon = new AbortController();
  /**
   * What was given up and is still held, oldest first: messages up to a sequence get a signal that has aborted, and so are not sent. The
   * first entry counts, so that a deadline does not keep what was discarded before it.
   */
  #abandoned: readonly { readonly upTo: number; readonly signal: AbortSignal }[] = [];

  constructor(options: BatcherOptions) {
    this.#options = options;
    this.#lastFlushMs = options.clock.monotonic();
    const { limits, defer, hold } = options;
    this.#waiters = new RoomWaiters({ room: () => roomFor(limits, this.#load), defer, hold });
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
    this.#waiters.used();
    return this.#boundFor(1);
  }

  /** Queues a message. Returns the bound that leaves no room for it. */
  offer({ bytes, ...message }: Omit<HeldMessage, "sequence">): QueueBound | undefined {
    const bound = this.#boundFor(bytes);
    if (bound !== undefined) return bound;
    this.#lastSequence += 1;
    this.#queue.push({ sequence: this.#lastSequence, bytes, ...message });
    this.#count(bytes);
    if (this.#waiters.isEmpty) this.#schedule();
    else this.#makeRoom();
    return undefined;
  }

  /** Resolves when a message of any size fits. While somebody waits, everything that is queued is due. */
  ready(): Promise<void> {
    if (this.#options.isInRequest) return this.#readyInRequest();
    const ready = this.#waiters.ready();
    if (!this.#waiters.isEmpty) this.#makeRoom();
    return ready;
  }

  /** Resolves all pending `ready()`, because no call needs room any more. */
  wakeAll(): void {
    this.#waiters.wakeAll();
  }

  /**
   * Sends everything that is held now. Resolves when all of it has ended, whether delivered or not, or after `timeoutMs`. Where no request
   * can be made now, it resolves at once.
   */
  flush(timeoutMs?: number): Promise<FlushResult> {
    const { countsSpooled, isInRequest, clock } = this.#options;
    const canSend = isInRequest === undefined || isInRequest();
    const counts = { spooled: countsSpooled, queued: timeoutMs !== undefined || !canSend };
    const watch = new FlushWatch(this.#lastSequence, this.#load.messages, counts);
    if (watch.isDone) return watch.done;
    if (!canSend) {
      watch.expire();
      return watch.done;
    }
    this.#watches.add(watch);
    if (isInRequest) this.#resendStranded(watch);
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
    // The request that sends a batch may have ended: then it would never be told that it is given up.
    if (this.#options.isInRequest)
      this.#stranded.push(...this.#inFlight.takeStranded(Number.POSITIVE_INFINITY));
    this.#makeAllDue();
    abandon.abort(new DeadlineReached(deadline));
  }

  /** Everything that is held, oldest first, in batches. For writing it to disk when the process ends at once. */
  snapshot(): readonly Batch[] {
    const batches = [...this.#stranded, ...this.#inFlight.oldestFirst()];
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
    const [first] = batch;
    return first !== undefined && abandonedBy(this.#signalFor(first)).deadline === "discarded";
  }

  /** A flush of the waiting request makes room: another request may end before it does. */
  async #readyInRequest(): Promise<void> {
    if (roomFor(this.#options.limits, this.#load) <= 0) await this.flush();
  }

  #count(bytes: number): void {
    const load = this.#load;
    const peak = this.#peak;
    load.messages += 1;
    load.bytes += bytes;
    peak.messages = Math.max(peak.messages, load.messages);
    peak.bytes = Math.max(peak.bytes, load.bytes);
  }

  #setState(state: State): void {
    if (this.#state.kind === "waiting") this.#state.cancelTimer();
    this.#state = state;
  }

  /** Decides when the messages that are not due become due. */
  #schedule(): void {
    const notDue = this.#lastSequence - this.#dueUpTo;
    if (notDue === 0) return;
    const { policy, clock, isInRequest } = this.#options;
    if (isInRequest) {
      this.#noticeUnsent(isInRequest);
      return;
    }
    const decision = decideFlush(policy, notDue, this.#lastFlushMs);
    if (decision.kind === "flush") this.#makeAllDue();
    else if (this.#state.kind === "idle") {
      const delayMs = Math.max(0, decision.untilMs - clock.monotonic());
      this.#setState({ kind: "waiting", cancelTimer: clock.after(delayMs, () => this.#makeAllDue()) });
    }
  }

  /** Messages wait for a flush. Time stands still outside of a request, so a message that came there waits from the next one on. */
  #noticeUnsent(isInRequest: () => boolean): void {
    const { policy, clock, onUnsent } = this.#options;
    if (this.#unsentSinceMs === undefined) {
      if (isInRequest()) this.#unsentSinceMs = clock.monotonic();
    } else if (clock.monotonic() - this.#unsentSinceMs > policy.flushAfterMs) onUnsent?.();
  }

  /** The bound that a message of `bytes` would exceed. Then everything that is queued is sent, whatever the policy says. */
  #boundFor(bytes: number): QueueBound | undefined {
    const bound = exceededBound(this.#options.limits, this.#load, bytes);
    if (bound !== undefined) this.#makeRoom();
    return bound;
  }

  #makeRoom(): void {
    if (this.#options.isInRequest) return;
    if (this.#dueUpTo < this.#lastSequence) this.#makeAllDue();
  }

  #makeAllDue(): void {
    this.#dueUpTo = this.#lastSequence;
    this.#lastFlushMs = this.#options.clock.monotonic();
    if (this.#options.isInRequest) {
      this.#unsentSinceMs = undefined;
      this.#drain();
      return;
    }
    if (this.#state.kind === "flushing") return;
    this.#setState(FLUSHING);
    this.#options.defer(() => {
      this.#setState(IDLE);
      this.#pump();
      this.#schedule();
    });
  }

  #pump(): void {
    if (this.#options.isInRequest) return;
    while (this.#inFlight.size < this.#options.maxInFlight) {
      const oldest = this.#queue.peek();
      if (!oldest || oldest.sequence > this.#dueUpTo) return;
      void this.#send(this.#takeBatch(), this.#signalFor(oldest));
    }
  }

  /** Sends everything that is due, whatever other requests have in flight. */
  #drain(): void {
    const upTo = this.#dueUpTo;
    const sendNext = async (): Promise<void> => {
      for (;;) {
        const oldest = this.#stranded[0]?.[0] ?? this.#queue.peek();
        if (!oldest || oldest.sequence > upTo) return;
        await this.#send(this.#stranded.shift() ?? this.#takeBatch(), this.#signalFor(oldest));
      }
    };
    for (let lane = 0; lane < this.#options.maxInFlight; lane++) void sendNext();
  }

  /** Sends stranded batches again, now and for as long as `watch` waits. */
  #resendStranded(watch: FlushWatch): void {
    const { clock } = this.#options;
    this.#stranded.push(...this.#inFlight.takeStranded(clock.monotonic()));
    const cancel = clock.after(STRANDED_AFTER_MS, () => {
      this.#resendStranded(watch);
      this.#drain();
    });
    void watch.done.then(cancel);
  }

  #signalFor({ sequence }: HeldMessage): AbortSignal {
    return this.#abandoned.find(({ upTo }) => sequence <= upTo)?.signal ?? this.#abandon.signal;
  }

  /** The sequence of the oldest message that is held. */
  #oldestSequence(): number {
    const oldest = [...this.#stranded, ...this.#inFlight.oldestFirst()].map(([first]) => first);
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
    if (this.#dueUpTo === this.#lastSequence) this.#setState(IDLE);
    return batch;
  }

  async #send(batch: Batch, signal: AbortSignal): Promise<void> {
    this.#inFlight.add(batch, this.#options.clock.monotonic());
    const reports = await this.#reportsOf(batch, signal);
    if (!this.#inFlight.remove(batch)) return;
    for (const report of reports) this.#release(report);
    this.#pump();
    this.#waiters.wake();
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
    this.#load.messages -= report.batch.length;
    for (const { bytes, heldBytes = bytes } of report.batch) this.#load.bytes -= heldBytes;
    this.#options.onOutcome(report);
    for (const watch of this.#watches) {
      watch.count(report);
      if (watch.isDone) this.#watches.delete(watch);
    }
  }
}
