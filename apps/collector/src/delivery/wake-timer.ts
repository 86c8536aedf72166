import type { CancelTimer, Clock } from "@sluice/resilience";

/** One timer for the earliest of several times. */
export class WakeTimer {
  readonly #clock: Clock;
  readonly #onWake: () => void;
  #timer: { readonly atMs: number; readonly cancel: CancelTimer } | undefined;

  constructor(clock: Clock, onWake: () => void) {
    this.#clock = clock;
    this.#onWake = onWake;
  }

  /**
   * Sets the timer for the earliest of these monotonic readings that is after `seenMs`, or clears it if there is none. `seenMs` is the
   * reading up to which the caller has looked: what became due since then still needs a timer.
   */
  set(timesMs: readonly (number | undefined)[], seenMs: number): void {
    const atMs = timesMs.reduce<number>(
      (earliest, at) => (at !== undefined && at > seenMs && at < earliest ? at : earliest),
      Number.POSITIVE_INFINITY,
    );
    // Called often, and mostly with the same time.
    if (atMs === this.#timer?.atMs) return;
    this.cancel();
    if (atMs === Number.POSITIVE_INFINITY) return;
    const cancel = this.#clock.after(Math.max(0, atMs - this.#clock.monotonic()), () => {
      this.#timer = undefined;
      this.#onWake();
    });
    this.#timer = { atMs, cancel };
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
