import { failedAgain, type LastTried } from "./last-tried.js";
import { type RecentCounts, RecentRounds } from "./recent-rounds.js";

/** How the rounds at a destination, or the attempts at one URL, ended. */
export interface TriedFacts {
  readonly last: LastTried;
  readonly recent: RecentCounts;
  /** Of the last failure, also if a later round succeeded. */
  readonly lastError?: string;
}

/** Keeps how rounds ended since it was created. */
export class Tried {
  readonly #recent = new RecentRounds();
  #last: LastTried = { kind: "nothing" };
  #lastError: string | undefined;

  /** `error`: why the round failed; absent if it succeeded. */
  ended(error: string | undefined, now: { readonly atMs: number; readonly monotonicMs: number }): void {
    this.#recent.add(error !== undefined, now.monotonicMs);
    this.#last = error === undefined ? { kind: "delivered" } : failedAgain(this.#last, now.atMs, error);
    this.#lastError = error ?? this.#lastError;
  }

  get last(): LastTried {
    return this.#last;
  }

  facts(monotonicMs: number): TriedFacts {
    const lastError = this.#lastError;
    return {
      last: this.#last,
      recent: this.#recent.counts(monotonicMs),
      ...(lastError === undefined ? {} : { lastError }),
    };
  }
}
