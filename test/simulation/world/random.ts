/** A seeded source of chance. The same seed gives the same sequence. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** A whole number from `least` to `most`, both included. */
  integer(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** Bytes, for ids and keys. */
  bytes(count: number): Uint8Array;
  /** An independent source. It depends on the seed and the name only, not on what was drawn before. */
  fork(name: string): Random;
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

/** Mulberry32: small, fast, and good enough to pick faults. */
export function seededRandom(seed: number, path = ""): Random {
  let state = hash(`${seed}:${path}`);
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    integer: (least, most) => least + Math.floor(next() * (most - least + 1)),
    chance: (probability) => next() < probability,
    pick<T>(list: readonly T[]): T {
      if (list.length === 0) throw new RangeError("Nothing to pick from");
      return list[Math.floor(next() * list.length)] as T;
    },
    bytes: (count) => Uint8Array.from({ length: count }, () => Math.floor(next() * 256)),
    fork: (name) => seededRandom(seed, `${path}/${name}`),
  };
}
