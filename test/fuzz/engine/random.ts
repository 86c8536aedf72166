/** A seeded source of chance: the same seed gives the same numbers (mulberry32). */
export interface Random {
  /** An integer from 0 to `below` - 1. */
  int(below: number): number;
  pick<T>(items: readonly T[]): T;
  /** True in one of `oneIn` cases. */
  chance(oneIn: number): boolean;
}

export function seededRandom(seed: number): Random {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (below: number): number => Math.floor(next() * below);
  return {
    int,
    pick: (items) => items[int(items.length)] as (typeof items)[number],
    chance: (oneIn) => int(oneIn) === 0,
  };
}
