import type { Delivery, Store } from "@sluice/event-log";

/** How the last round at a destination ended. */
export type LastTried =
  /** No round yet. */
  | { readonly kind: "nothing" }
  | { readonly kind: "delivered" }
  | {
      readonly kind: "failed";
      /** The first of the failures in a row. */
      readonly sinceMs: number;
      readonly error: string;
      readonly inARow: number;
    };

/** After a round that failed. */
function failedAgain(before: LastTried, atMs: number, error: string): LastTried {
  return before.kind === "failed"
    ? { ...before, error, inARow: before.inARow + 1 }
    : { kind: "failed", sinceMs: atMs, error, inARow: 1 };
}

/** Deliveries to look at per state. They are listed by message, and an older message may have ended later. */
const SAMPLE = 20;

/**
 * What the store knows from before a moment, for the time before this process started. The moment is in wall time: `ended` by the
 * clock at that moment, which dates finished deliveries; `pending` by the clock as it is set now.
 */
export async function lastTriedBefore(
  { consumers }: Pick<Store, "consumers">,
  consumerId: string,
  beforeMs: { readonly ended: number; readonly pending: number },
): Promise<LastTried> {
  const lists = await Promise.all(
    (["delivered", "failed", "pending"] as const).map((state) =>
      consumers.list(
        { consumerId, state, toMs: state === "pending" ? beforeMs.pending : beforeMs.ended },
        { limit: SAMPLE },
      ),
    ),
  );
  const last = lastOf(lists.flatMap(({ items }) => items));
  if (last.kind !== "failed") return last;
  const { sinceMs, newest } = last;
  const attempts = await consumers.attemptsOf(consumerId, newest.offset);
  const error = attempts.findLast((attempt) => attempt.error !== undefined)?.error?.message;
  return { kind: "failed", sinceMs, error: error ?? newest.reason, inARow: 1 };
}

/** The last round among the newest deliveries, given in any order. */
export function lastOf<D extends Pick<Delivery, "state" | "atMs" | "rounds">>(
  deliveries: readonly D[],
):
  | Exclude<LastTried, { kind: "failed" }>
  | { readonly kind: "failed"; readonly sinceMs: number; readonly newest: D } {
  // A delivery that was never tried says nothing about the destination.
  const tried = deliveries.filter(({ rounds }) => rounds > 0);
  const deliveredAtMs = Math.max(
    ...tried.filter(({ state }) => state === "delivered").map(({ atMs }) => atMs),
    Number.NEGATIVE_INFINITY,
  );
  const [first, ...others] = tried
    .filter(({ state, atMs }) => (state === "failed" || state === "pending") && atMs > deliveredAtMs)
    .sort((a, b) => a.atMs - b.atMs);
  if (first !== undefined) return { kind: "failed", sinceMs: first.atMs, newest: others.at(-1) ?? first };
  return deliveredAtMs === Number.NEGATIVE_INFINITY ? { kind: "nothing" } : { kind: "delivered" };
}

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
    const recent = this.#seconds.filter(({ at }) => at > oldest);
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
