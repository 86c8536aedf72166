import { bitOf, blockOf, type IdFilter, WORDS_A_BLOCK } from "./id-filter.js";

/** Filters in a bank. */
const SLOTS = 64;
/** Blocks of a filter that are added in one step. */
const BLOCKS_AT_ONCE = 512;

/**
 * The filters of up to 64 segments side by side: the same word of the same block of all of them is one stretch of 256 bytes. To ask
 * all of them is to run through a few such stretches, about 0.2 µs; one after the other they would cost a cache miss each,
 * 15 µs for the 76 segments of 10 million messages.
 */
class Bank<Segment> {
  readonly #blocks: number;
  /** Index: (block × 8 + word) × 64 + slot. */
  readonly #words: Uint32Array;
  readonly #segments: (Segment | undefined)[] = [];

  constructor(blocks: number) {
    this.#blocks = blocks;
    this.#words = new Uint32Array(blocks * WORDS_A_BLOCK * SLOTS);
  }

  get isFull(): boolean {
    return this.#segments.length === SLOTS;
  }

  get isEmpty(): boolean {
    return this.#segments.every((segment) => segment === undefined);
  }

  /** In steps of about a millisecond: each block of a filter is a cache line far from the next. The segment is asked about after the last. */
  *addInSteps(segment: Segment, filter: IdFilter): Generator<void, void> {
    const slot = this.#segments.push(undefined) - 1;
    const most = Math.max(this.#blocks, filter.blocks);
    // A filter with fewer blocks is stretched, one with more is folded: each hash finds its bits either way.
    for (let i = 0; i < most; i++) {
      const to = Math.floor((i / most) * this.#blocks) * WORDS_A_BLOCK;
      const from = Math.floor((i / most) * filter.blocks) * WORDS_A_BLOCK;
      for (let word = 0; word < WORDS_A_BLOCK; word++) {
        const at = (to + word) * SLOTS + slot;
        this.#words[at] = (this.#words[at] ?? 0) | (filter.words[from + word] ?? 0);
      }
      if (i % BLOCKS_AT_ONCE === BLOCKS_AT_ONCE - 1) yield;
    }
    this.#segments[slot] = segment;
  }

  /** Its slot stays empty: segments leave in the order in which they came, and the whole bank with the last. */
  remove(segment: Segment): void {
    const slot = this.#segments.indexOf(segment);
    if (slot >= 0) this.#segments[slot] = undefined;
  }

  ask(hi: number, lo: number, found: Segment[]): void {
    const words = this.#words;
    let at = blockOf(hi, this.#blocks) * WORDS_A_BLOCK * SLOTS;
    const first = bitOf(lo, 0);
    let count = 0;
    for (let slot = 0; slot < this.#segments.length; slot++) {
      if (((words[at + slot] ?? 0) & first) !== 0) left[count++] = slot;
    }
    for (let word = 1; word < WORDS_A_BLOCK && count > 0; word++) {
      at += SLOTS;
      const bit = bitOf(lo, word);
      let kept = 0;
      for (let i = 0; i < count; i++) {
        const slot = left[i] ?? 0;
        if (((words[at + slot] ?? 0) & bit) !== 0) left[kept++] = slot;
      }
      count = kept;
    }
    for (let i = 0; i < count; i++) {
      const segment = this.#segments[left[i] ?? 0];
      if (segment !== undefined) found.push(segment);
    }
  }
}

/** The slots that are left while a bank is asked. */
const left = new Uint8Array(SLOTS);

/** Tells which segments may know an id. Takes 4 bytes of memory a message. */
export class FilterBanks<Segment> {
  readonly #blocks: number;
  readonly #banks: Bank<Segment>[] = [];

  /** `blocks` is what a full segment's filter has. */
  constructor(blocks: number) {
    this.#blocks = blocks;
  }

  /** To be run to its end, in as many steps as it takes. */
  addInSteps(segment: Segment, filter: IdFilter): Generator<void, void> {
    let bank = this.#banks.at(-1);
    if (bank === undefined || bank.isFull) {
      bank = new Bank(this.#blocks);
      this.#banks.push(bank);
    }
    return bank.addInSteps(segment, filter);
  }

  remove(segment: Segment): void {
    for (const bank of this.#banks) bank.remove(segment);
    // The newest bank stays: something may be on its way into it.
    if (this.#banks.length > 1 && this.#banks[0]?.isEmpty) this.#banks.shift();
  }

  /** Adds to `found` each segment whose filter does not deny the id. */
  ask(hi: number, lo: number, found: Segment[]): void {
    for (const bank of this.#banks) bank.ask(hi, lo, found);
  }
}
