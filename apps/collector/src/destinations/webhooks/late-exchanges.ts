/** Exchanges that may go on after another URL took their message, per concurrent round. */
const PER_ROUND = 4;

/** Counts exchanges that are still in flight after their round has ended, and holds rounds back while there are too many. */
export class LateExchanges {
  readonly #limit: number;
  #inFlight = 0;
  #onEnd: (() => void)[] = [];

  /** `concurrency`: rounds in flight at once. */
  constructor(concurrency: number) {
    this.#limit = concurrency * PER_ROUND;
  }

  /** Adds a round's exchanges. Resolves when there is room for another round. */
  async add(exchanges: readonly Promise<unknown>[]): Promise<void> {
    for (const exchange of exchanges) {
      this.#inFlight += 1;
      void exchange.finally(() => {
        this.#inFlight -= 1;
        for (const resume of this.#onEnd.splice(0)) resume();
      });
    }
    while (this.#inFlight > this.#limit) {
      await new Promise<void>((resolve) => {
        this.#onEnd.push(resolve);
      });
    }
  }
}
