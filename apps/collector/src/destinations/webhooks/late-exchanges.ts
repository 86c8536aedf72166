/** Exchanges that may continue after another URL accepted their message, per concurrent round. */
const PER_ROUND = 4;

/** Counts exchanges that are in flight after their round has ended. Delays further rounds while there are too many. */
export class LateExchanges {
  readonly #limit: number;
  #inFlight = 0;
  #onEnd: (() => void)[] = [];

  /** `concurrency`: maximum number of rounds in flight. */
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
