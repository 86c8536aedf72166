/**
 * Slows whoever guesses tokens: after some wrong ones in a row an address has to wait, twice as long after each
 * further one. While it waits nothing from it is looked at, right or wrong, but for tokens that it has proven
 * before: a guesser on a machine does not lock out the dashboard on the same one.
 */
export interface GuessLimit {
  /** Milliseconds until this address may try `tokenHash`; 0: now. */
  waitMs(address: string, tokenHash: string, nowMs: number): number;
  wrong(address: string, nowMs: number): void;
  right(address: string, tokenHash: string): void;
}

/** Wrong tokens that cost nothing: a person who pastes the wrong one. */
const FREE_GUESSES = 5;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/** After so long without a wrong one everything is forgotten. */
const FORGET_AFTER_MS = 15 * 60_000;
/** Addresses kept; the one that was seen longest ago goes first. */
const MOST_ADDRESSES = 10_000;
const MOST_PROVEN = 16;

interface Address {
  wrong: number;
  lastWrongMs: number;
  readonly proven: Set<string>;
}

export function guessLimit(): GuessLimit {
  const addresses = new Map<string, Address>();

  const touch = (name: string): Address => {
    const known = addresses.get(name) ?? { wrong: 0, lastWrongMs: 0, proven: new Set<string>() };
    addresses.delete(name);
    addresses.set(name, known);
    if (addresses.size > MOST_ADDRESSES) {
      const oldest = addresses.keys().next();
      if (!oldest.done) addresses.delete(oldest.value);
    }
    return known;
  };

  return {
    waitMs(name, tokenHash, nowMs) {
      const address = addresses.get(name);
      if (address === undefined || address.proven.has(tokenHash)) return 0;
      return Math.max(0, address.lastWrongMs + waitAfter(address.wrong) - nowMs);
    },
    wrong(name, nowMs) {
      const address = touch(name);
      if (nowMs - address.lastWrongMs > FORGET_AFTER_MS) address.wrong = 0;
      address.wrong += 1;
      address.lastWrongMs = nowMs;
    },
    right(name, tokenHash) {
      const address = addresses.get(name);
      if (address?.proven.has(tokenHash) && address.wrong === 0) return;
      const known = touch(name);
      known.wrong = 0;
      if (known.proven.size >= MOST_PROVEN) known.proven.clear();
      known.proven.add(tokenHash);
    },
  };
}

/** How long an address waits after its `wrong`-th wrong token in a row. */
export function waitAfter(wrong: number): number {
  if (wrong < FREE_GUESSES) return 0;
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(wrong - FREE_GUESSES, 16));
}
