/**
 * A split block Bloom filter: a key sets one bit in each of the eight words of a block. The number of blocks is a power of two, about 32
 * bits a key when the filter is full. About one lookup in 20,000 is a false positive.
 */
export const WORDS_A_BLOCK = 8;
export const BITS_A_WORD = 32;
const BITS_A_KEY = 32;
const SALTS = new Int32Array([
  0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
]);

/** The number of blocks of a filter for this number of keys. */
export function blocksFor(keys: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, (keys * BITS_A_KEY) / (WORDS_A_BLOCK * BITS_A_WORD))));
}

/** The `shift` of `blockOf` for this number of blocks. */
export function shiftFor(blocks: number): number {
  return 31 - Math.log2(blocks);
}

/** The block of a hash: its upper bits. So two neighbouring blocks become one in a filter with half as many blocks. */
export function blockOf(hi: number, shift: number): number {
  // In two steps: for one block it is a shift by 32, which JavaScript does not shift at all.
  return (hi >>> 1) >>> shift;
}

/** The bit of a hash in a word of its block, 0 to 31. */
export function bitOf(lo: number, word: number): number {
  return Math.imul(lo, SALTS[word] ?? 1) >>> 27;
}

export class IdFilter {
  readonly words: Uint32Array;
  readonly blocks: number;
  readonly #shift: number;

  private constructor(words: Uint32Array) {
    this.words = words;
    this.blocks = words.length / WORDS_A_BLOCK;
    this.#shift = shiftFor(this.blocks);
  }

  static forKeys(count: number): IdFilter {
    return new IdFilter(new Uint32Array(blocksFor(count) * WORDS_A_BLOCK));
  }

  static from(bytes: Uint8Array): IdFilter {
    // A copy: bytes from SQLite may not be aligned to four bytes.
    return new IdFilter(new Uint32Array(bytes.slice().buffer));
  }

  get bytes(): Uint8Array {
    return new Uint8Array(this.words.buffer);
  }

  has(hi: number, lo: number): boolean {
    const at = blockOf(hi, this.#shift) * WORDS_A_BLOCK;
    for (let word = 0; word < WORDS_A_BLOCK; word++) {
      if (((this.words[at + word] ?? 0) & (1 << bitOf(lo, word))) === 0) return false;
    }
    return true;
  }

  add(hi: number, lo: number): void {
    const at = blockOf(hi, this.#shift) * WORDS_A_BLOCK;
    for (let word = 0; word < WORDS_A_BLOCK; word++) {
      this.words[at + word] = (this.words[at + word] ?? 0) | (1 << bitOf(lo, word));
    }
  }
}
