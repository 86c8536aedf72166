import type { Clock } from "@sluice/resilience";
import type { Batch } from "../message/batch.js";
import type { FlushWatch } from "./flush-watch.js";
import { STRANDED_AFTER_MS } from "./message-queue.js";
import type { Outbox, Scheduler } from "./scheduler.js";

export interface RequestOptions {
  /** As in `Platform`. */
  readonly isInRequest: () => boolean;
  /** How long messages may wait for a flush before `onUnsent` is called, in milliseconds. */
  readonly unsentAfterMs: number;
  /** Called if messages wait for longer because nobody flushes. */
  readonly onUnsent?: (() => void) | undefined;
  readonly maxInFlight: number;
  readonly clock: Clock;
  /** Resolves when everything that is held has ended. */
  readonly flush: () => Promise<unknown>;
}

/**
 * Where timers and requests end with the incoming request that started them: only a flush sends. Each one drains the queue itself, so
 * that what it sends lives as long as the request that waits for it.
 */
export class RequestScheduler implements Scheduler {
  /** The next drain sends them first. */
  readonly stranded: Batch[] = [];
  readonly #outbox: Outbox;
  readonly #options: RequestOptions;
  /** Since when messages wait for a flush. */
  #unsentSinceMs: number | undefined;

  constructor(outbox: Outbox, options: RequestOptions) {
    this.#outbox = outbox;
    this.#options = options;
  }

  get canSend(): boolean {
    return this.#options.isInRequest();
  }

  admitted(): void {}

  /** Time stands still outside of a request, so a message that came there waits from the next one on. */
  queued(): void {
    const { isInRequest, unsentAfterMs, clock, onUnsent } = this.#options;
    if (this.#unsentSinceMs === undefined) {
      if (isInRequest()) this.#unsentSinceMs = clock.monotonic();
    } else if (clock.monotonic() - this.#unsentSinceMs > unsentAfterMs) onUnsent?.();
  }

  full(): void {}

  /** A flush of the waiting request makes room: another request may end before it does. */
  async ready(): Promise<void> {
    if (this.#outbox.room <= 0) await this.#options.flush();
  }

  wakeAll(): void {}

  /** Sends everything that is due, whatever other requests have in flight. */
  due(): void {
    this.#unsentSinceMs = undefined;
    this.#drain();
  }

  emptied(): void {}

  ended(): void {}

  /** Sends stranded batches again, now and for as long as `watch` waits. */
  flushing(watch: FlushWatch): void {
    const { clock } = this.#options;
    this.#takeStranded(clock.monotonic());
    const cancel = clock.after(STRANDED_AFTER_MS, () => {
      this.flushing(watch);
      this.#drain();
    });
    void watch.done.then(cancel);
  }

  /** The request that sends a batch may have ended: then it would never be told that it is given up. */
  abandoned(): void {
    this.#takeStranded(Number.POSITIVE_INFINITY);
  }

  #takeStranded(nowMs: number): void {
    this.stranded.push(...this.#outbox.inFlight.takeStranded(nowMs));
  }

  #drain(): void {
    const { dueUpTo } = this.#outbox;
    for (let lane = 0; lane < this.#options.maxInFlight; lane++) void this.#sendUpTo(dueUpTo);
  }

  async #sendUpTo(sequence: number): Promise<void> {
    for (;;) {
      const sent = this.#sendOldest(sequence);
      if (sent === undefined) return;
      await sent;
    }
  }

  #sendOldest(upTo: number): Promise<void> | undefined {
    const [batch] = this.stranded;
    if (batch === undefined) return this.#outbox.sendNext(upTo);
    if ((batch[0]?.sequence ?? 0) > upTo) return undefined;
    this.stranded.shift();
    return this.#outbox.resend(batch);
  }
}
