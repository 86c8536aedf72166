import type { Clock } from "@sluice/resilience";

/** The waits between attempts, of all batches of one client. */
export class Pauses {
  readonly #clock: Clock;
  /** Backoffs under way: each can be ended early. */
  readonly #backoffs = new Set<AbortController>();
  /** A monotonic reading. */
  #heldBackUntilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** No batch is begun within the next `ms`. One that was begun keeps to the wait that it was told itself. */
  holdBack(ms: number): void {
    this.#heldBackUntilMs = Math.max(this.#heldBackUntilMs, this.#clock.monotonic() + ms);
  }

  /** Resolves when a batch may be begun; sooner when `signal` aborts. */
  async untilLetThrough(signal: AbortSignal): Promise<void> {
    for (;;) {
      const ms = this.#heldBackUntilMs - this.#clock.monotonic();
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
    // Not AbortSignal.any: Node.js 20.0 to 20.2 lack it, and later ones keep what it makes for as long as `signal` lives.
    const cut = new AbortController();
    const onAbort = (): void => cut.abort();
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    this.#backoffs.add(cut);
    await this.full(ms, cut.signal);
    this.#backoffs.delete(cut);
    signal.removeEventListener("abort", onAbort);
  }

  /** Ends the backoffs under way: what they hold is tried now. Later ones take their time. */
  cutShort(): void {
    for (const cut of this.#backoffs) cut.abort();
  }
}
