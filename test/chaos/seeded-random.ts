/** Chance that can be repeated: the same seed gives the same numbers (mulberry32). */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** An integer from `from` to `to`, both included. */
  integer(from: number, to: number): number;
  pick<T>(items: readonly T[]): T;
}

export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  return {
    next,
    integer,
    pick<T>(items: readonly T[]): T {
      if (items.length === 0) throw new TypeError("There is nothing to pick from");
      return items[integer(0, items.length - 1)] as T;
    },
  };
}

/** A seed for a part of a run, so that a part can be repeated alone. */
export function seedOf(seed: number, ...parts: readonly (string | number)[]): number {
  let hash = seed >>> 0;
  for (const character of parts.join("/"))
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash;
}
