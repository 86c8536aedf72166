/** A split block Bloom filter: eight words a block, one bit in each. At 16 bits a key about one false answer in 1,500. */
const WORDS_A_BLOCK = 8;
const BITS_A_KEY = 16;
const SALTS = [
  0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
] as const;

export class IdFilter {
  readonly #words: Uint32Array;
  readonly #blocks: number;

  private constructor(words: Uint32Array) {
    this.#words = words;
    this.#blocks = words.length / WORDS_A_BLOCK;
  }

  static forKeys(count: number): IdFilter {
    const blocks = Math.max(1, Math.ceil((count * BITS_A_KEY) / (WORDS_A_BLOCK * 32)));
    return new IdFilter(new Uint32Array(blocks * WORDS_A_BLOCK));
  }

  static from(bytes: Uint8Array): IdFilter {
    // A copy: what SQLite gives need not begin at a multiple of four.
    return new IdFilter(new Uint32Array(bytes.slice().buffer));
  }

  get bytes(): Uint8Array {
    return new Uint8Array(this.#words.buffer);
  }

  #blockOf(hi: number): number {
    return Math.floor((hi / 0x1_0000_0000) * this.#blocks) * WORDS_A_BLOCK;
  }

  add(hi: number, lo: number): void {
    const at = this.#blockOf(hi);
    for (let i = 0; i < WORDS_A_BLOCK; i++) {
      const word = this.#words[at + i] ?? 0;
      this.#words[at + i] = word | (1 << (Math.imul(lo, SALTS[i] ?? 1) >>> 27));
    }
  }

  /** False: it was never added. True: most likely it was. */
  has(hi: number, lo: number): boolean {
    const at = this.#blockOf(hi);
    const words = this.#words;
    for (let i = 0; i < WORDS_A_BLOCK; i++) {
      if (((words[at + i] ?? 0) & (1 << (Math.imul(lo, SALTS[i] ?? 1) >>> 27))) === 0) return false;
    }
    return true;
  }
}
