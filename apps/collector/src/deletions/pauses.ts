import type { Clock } from "@sluice/resilience";

/** Pauses that somebody can end early. */
export class Pauses {
  readonly #clock: Pick<Clock, "sleep">;
  readonly #signal: AbortSignal;
  /** Ends the present pause, or the next one. */
  #early = new AbortController();

  constructor(clock: Pick<Clock, "sleep">, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Resolves after `ms`, or early after `end` or when the signal aborts. */
  async pause(ms: number): Promise<void> {
    const early = this.#early.signal;
    await this.#clock.sleep(ms, AbortSignal.any([this.#signal, early])).catch(() => {});
    if (early.aborted) this.#early = new AbortController();
  }

  end(): void {
    this.#early.abort();
  }
}
