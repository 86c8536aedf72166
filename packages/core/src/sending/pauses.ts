import type { Clock } from "@sluice/resilience";
import type { RetryDecision } from "./decide-retry.js";

/** Why sending ended early: the deadline of `close()`, that of a process that ends, or because the application discarded the messages. */
export type DeadlineCode = "close_deadline" | "exit_deadline" | "discarded";

/** The deadline passed before the batch was delivered. */
export interface Abandoned {
  readonly kind: "abandoned";
  readonly deadline: DeadlineCode;
}

/** The reason of the signal that ends all sending. */
export class DeadlineReached extends Error {
  readonly code: DeadlineCode;

  constructor(code: DeadlineCode) {
    super(code);
    this.code = code;
  }
}

/** The outcome of a batch whose signal has aborted. */
export function abandonedBy(signal: AbortSignal): Abandoned {
  const reason: unknown = signal.reason;
  return { kind: "abandoned", deadline: reason instanceof DeadlineReached ? reason.code : "close_deadline" };
}

type Retry = Extract<RetryDecision, { kind: "retry" }>;

/** The waits between attempts, for all batches of one client. */
export class Pauses {
  readonly #clock: Clock;
  /** Backoffs that have not ended: `cutShort` ends them. */
  readonly #backoffs = new Set<AbortController>();
  /** A monotonic reading. */
  #delayedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Starts no batch within the next `ms`. A batch that was started waits as long as its own answer said. */
  delayNewBatches(ms: number): void {
    this.#delayedUntilMs = Math.max(this.#delayedUntilMs, this.#clock.monotonic() + ms);
  }

  /** Resolves when a batch may be started, or when `signal` aborts. */
  async untilAllowed(signal: AbortSignal): Promise<void> {
    for (;;) {
      const ms = this.#delayedUntilMs - this.#clock.monotonic();
      if (ms <= 0 || signal.aborted) return;
      await this.#wait(ms, signal);
    }
  }

  /** Waits before a retry. `signal` ends the wait early, and `cutShort` does unless the server asked for it. */
  async beforeRetry({ delayMs, asked }: Retry, signal: AbortSignal): Promise<void> {
    await (asked ? this.#wait(delayMs, signal) : this.#backoff(delayMs, signal));
  }

  /** Ends the present backoffs, so that their batches are retried now. Later backoffs take their full time. */
  cutShort(): void {
    for (const cut of this.#backoffs) cut.abort();
  }
  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#clock.sleep(ms, signal);
    } catch {
      // The signal aborted: the caller checks it next.
    }
  }

  async #backoff(ms: number, signal: AbortSignal): Promise<void> {
    // Not `AbortSignal.any`: Node.js 20.0 to 20.2 lack it, and later versions keep its result for as long as `signal` lives.
    const cut = new AbortController();
    const onAbort = (): void => cut.abort();
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    this.#backoffs.add(cut);
    await this.#wait(ms, cut.signal);
    this.#backoffs.delete(cut);
    signal.removeEventListener("abort", onAbort);
  }
}
