import type { Clock } from "@sluice/resilience";

/** The waits between attempts, of all batches of one client. */
export class Pauses {
  readonly #clock: Clock;
  /** Backoffs under way: each can be ended early. */
  readonly #backoffs = new Set<AbortController>();
  #heldBackUntilMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** No attempt of any batch starts within the next `ms`. */
  holdBack(ms: number): void {
    this.#heldBackUntilMs = Math.max(this.#heldBackUntilMs, this.#clock.now() + ms);
  }

  /** Resolves when attempts may start; sooner when `signal` aborts. */
  async untilLetThrough(signal: AbortSignal): Promise<void> {
    for (;;) {
      const ms = this.#heldBackUntilMs - this.#clock.now();
      if (ms <= 0 || signal.aborted) return;
      await this.full(ms, signal);
    }
  }

  /** Waits `ms`; only `signal` ends it early. For waits that the server asked for. */
  async full(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#clock.sleep(ms, signal);
    } catch {
      // The signal aborted: whoever waits looks at it next.
    }
  }

  /** Waits `ms`; `cutShort` and `signal` end it early. For waits of our own choice. */
  async backoff(ms: number, signal: AbortSignal): Promise<void> {
    const cut = new AbortController();
    this.#backoffs.add(cut);
    try {
      await this.#clock.sleep(ms, AbortSignal.any([signal, cut.signal]));
    } catch {
      // Ended early, which is what was asked for.
    } finally {
      this.#backoffs.delete(cut);
    }
  }

  /** Ends the backoffs under way: what they hold is tried now. Later ones take their time. */
  cutShort(): void {
    for (const cut of this.#backoffs) cut.abort();
  }
}
