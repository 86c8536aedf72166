import { addressBytes, embeddedIpv4 } from "../sender/ip-address.js";

/**
 * Slows whoever guesses tokens: after some wrong ones a network has to wait before the next one is looked at, twice as long
 * after each further one. Only wrong tokens are counted and refused: a right one is always accepted, so that nobody can lock out
 * an administrator.
 */
export interface GuessLimit {
  /** Takes note of a wrong token. Milliseconds that its sender has to wait; 0: this one was free. */
  wrong(address: string, nowMs: number): number;
}

/** Wrong tokens that cost nothing: a person who pastes the wrong one. */
const FREE_GUESSES = 5;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/** After so long without a wrong one everything is forgotten. */
const FORGET_AFTER_MS = 15 * 60_000;
/** Networks kept; the one that was seen longest ago goes first. */
const MOST_NETWORKS = 10_000;

interface Guesser {
  readonly wrong: number;
  readonly lastWrongMs: number;
}

export function guessLimit(): GuessLimit {
  const guessers = new Map<string, Guesser>();
  return {
    wrong(address, nowMs) {
      const network = networkOf(address);
      const before = guessers.get(network);
      const isFresh = before !== undefined && nowMs - before.lastWrongMs <= FORGET_AFTER_MS;
      const leftMs = isFresh ? before.lastWrongMs + waitAfter(before.wrong) - nowMs : 0;
      // What comes too early is not counted: a client that tries on and on gets through once it has the right token.
      if (leftMs > 0) return leftMs;
      guessers.delete(network);
      guessers.set(network, { wrong: isFresh ? before.wrong + 1 : 1, lastWrongMs: nowMs });
      const oldest = guessers.size > MOST_NETWORKS ? guessers.keys().next() : undefined;
      if (oldest?.done === false) guessers.delete(oldest.value);
      return 0;
    },
  };
}

/** An IPv4 address, or the /64 of an IPv6 one: whoever has an IPv6 address usually has all of its /64. */
function networkOf(address: string): string {
  const bytes = addressBytes(address);
  if (bytes === undefined) return address;
  return (embeddedIpv4(bytes) ?? bytes).slice(0, 8).join(".");
}

/** How long a network waits after its `wrong`-th wrong token in a row. */
export function waitAfter(wrong: number): number {
  if (wrong < FREE_GUESSES) return 0;
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(wrong - FREE_GUESSES, 16));
}
