import { LRUCache } from "lru-cache";
import { clientGroup } from "../http/body/amounts-by-address.js";

/**
 * Slows down guessing of tokens. After a few wrong tokens a network has to wait, and the wait doubles with each further one.
 * A valid token is always accepted, so that nobody can lock out an administrator.
 */
export interface GuessLimit {
  /** Counts a wrong token. Returns how long its sender has to wait, in milliseconds, or 0. */
  wrong(address: string, nowMs: number): number;
}

/** Wrong tokens without a wait, to allow for mistakes. */
const FREE_GUESSES = 5;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/** Without a wrong token for this long, the count starts again. */
const FORGET_AFTER_MS = 15 * 60_000;
/** Maximum number of networks to track. */
const MAX_NETWORKS = 10_000;

interface Guesser {
  readonly wrong: number;
  readonly lastWrongMs: number;
}

export function guessLimit(): GuessLimit {
  /** Made by the first wrong token: its arrays take memory and time at the start, and most collectors see none. */
  let made: LRUCache<string, Guesser> | undefined;
  return {
    wrong(address, nowMs) {
      made ??= new LRUCache<string, Guesser>({ max: MAX_NETWORKS });
      const guessers = made;
      const network = clientGroup(address);
      const before = guessers.get(network);
      const isFresh = before !== undefined && nowMs - before.lastWrongMs <= FORGET_AFTER_MS;
      const leftMs = isFresh ? before.lastWrongMs + waitAfter(before.wrong) - nowMs : 0;
      // Wrong tokens during the wait are not counted, so that a client that keeps trying does not extend its wait.
      if (leftMs > 0) return leftMs;
      guessers.set(network, { wrong: isFresh ? before.wrong + 1 : 1, lastWrongMs: nowMs });
      return 0;
    },
  };
}

/** How long a network waits after its `wrong`-th wrong token in a row. */
export function waitAfter(wrong: number): number {
  if (wrong < FREE_GUESSES) return 0;
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(wrong - FREE_GUESSES, 16));
}
