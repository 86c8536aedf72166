import { failedAgain, type LastTried } from "./last-tried.js";

/** How long a round counts as recent, in seconds. */
const SECONDS = 60;

interface RecentCounts {
  readonly rounds: number;
  readonly failed: number;
}

interface Second {
  /** Seconds on the monotonic clock. */
  at: number;
  rounds: number;
  failed: number;
}

/** Counts the rounds of the last minute, and those that failed. */
class RecentRounds {
  readonly #seconds: Second[] = Array.from({ length: SECONDS }, () => ({ at: -1, rounds: 0, failed: 0 }));

  add(failed: boolean, monotonicMs: number): void {
    const at = Math.floor(monotonicMs / 1_000);
    // The remainder of a division by the length is an index.
    const second = this.#seconds[at % SECONDS] as Second;
    if (second.at !== at) {
      second.at = at;
      second.rounds = 0;
      second.failed = 0;
    }
    second.rounds += 1;
    if (failed) second.failed += 1;
  }

  counts(monotonicMs: number): RecentCounts {
    const oldest = Math.floor(monotonicMs / 1_000) - SECONDS;
    const recent = this.#seconds.filter(({ at, rounds }) => at > oldest && rounds > 0);
    return {
      rounds: recent.reduce((sum, { rounds }) => sum + rounds, 0),
      failed: recent.reduce((sum, { failed }) => sum + failed, 0),
    };
  }
}

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
