import { backoffDelayMs, type CancelTimer, type Clock } from "@sluice/resilience";

const PAUSES = { initialMs: 1_000, maxMs: 15_000, jitter: "equal" } as const;

/**
 * Tries again what failed in the store: everything at one time, however many calls failed, and after pauses that grow until a call
 * succeeds. A try makes several calls; if each that fails set a timer of its own, their number would double with each try.
 */
export class StoreRetry {
  readonly #clock: Clock;
  readonly #onTime: () => void;
  /** The calls to repeat at the next try. */
  #calls: (() => void)[] = [];
  #cancel: CancelTimer | undefined;
  #pauses = 0;

  /** `onTime` is called at each try, after the calls that are to be repeated. */
  constructor(clock: Clock, onTime: () => void) {
    this.#clock = clock;
    this.#onTime = onTime;
  }

  /** A call failed. `again` repeats it at the next try. */
  failed(again?: () => void): void {
    if (again !== undefined) this.#calls.push(again);
    if (this.#cancel !== undefined) return;
    this.#pauses += 1;
    const pauseMs = backoffDelayMs(this.#pauses, PAUSES, this.#clock.random());
    this.#cancel = this.#clock.after(pauseMs, () => {
      this.#cancel = undefined;
      for (const call of this.#calls.splice(0)) call();
      this.#onTime();
    });
  }

  /** A call succeeded: the next pause is short again. */
  succeeded(): void {
    this.#pauses = 0;
  }

  /** The store may never work again, and a timer would keep the process from ending. */
  close(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#calls = [];
  }
}
