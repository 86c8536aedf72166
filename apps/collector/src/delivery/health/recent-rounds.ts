/** How long a round counts as recent, in seconds. */
const SECONDS = 60;

export interface RecentCounts {
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
export class RecentRounds {
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
