import { KEY } from "../calls/append-request.js";
import { BITS_A_WORD, bitOf, blockOf, type IdFilter, shiftFor, WORDS_A_BLOCK } from "./id-filter.js";

/** Filters in a bank: one bit each, in two words. */
const SLOTS = 64;
/** Blocks of a filter that are added in one step. */
const BLOCKS_AT_ONCE = 512;
/** Words in a block of a bank: two for each bit of a filter's block. */
const MASKS_A_BLOCK = WORDS_A_BLOCK * BITS_A_WORD * 2;

/**
 * The keys of a request that some filter may still have, and the slots of these filters. Allocated once for each `FilterBanks`, because a
 * request needs it for every bank.
 */
class Candidates {
  count = 0;
  key = new Uint32Array(1_024);
  /** Slots 0 to 31, as bits. */
  low = new Int32Array(1_024);
  /** Slots 32 to 63, as bits. */
  high = new Int32Array(1_024);

  /** Begins with all slots of `count` keys. */
  begin(count: number): void {
    if (this.key.length < count) {
      this.key = new Uint32Array(count);
      this.low = new Int32Array(count);
      this.high = new Int32Array(count);
    }
    for (let i = 0; i < count; i++) this.key[i] = i;
    this.low.fill(-1, 0, count);
    this.high.fill(-1, 0, count);
    this.count = count;
  }

  /** Removes the keys that have no slot left. */
  compact(): void {
    const { key, low, high, count } = this;
    let kept = 0;
    for (let i = 0; i < count; i++) {
      const any = (low[i] ?? 0) | (high[i] ?? 0);
      key[kept] = key[i] ?? 0;
      low[kept] = low[i] ?? 0;
      high[kept] = high[i] ?? 0;
      // 1 if a bit is set. A branch would be mispredicted half of the time.
      kept += (any | -any) >>> 31;
    }
    this.count = kept;
  }
}

/**
 * The filters of up to 64 segments, transposed: for each bit of each block, a mask of 64 bits says which filters have it set. A lookup in
 * all filters is an AND of eight masks; mostly nothing is left after two. Each mask is a cache miss, so the ids of a whole request are
 * looked up together, one word at a time, in loops without a branch, and the processor fetches many masks at once. This takes 0.1 µs an id
 * with one filter and 0.3 µs with 64; separate filters would cost a cache miss each.
 */
class Bank<Segment> {
  readonly #blocks: number;
  readonly #shift: number;
  readonly #masks: Uint32Array;
  readonly #segments: (Segment | undefined)[] = [];

  constructor(blocks: number) {
    this.#blocks = blocks;
    this.#shift = shiftFor(blocks);
    this.#masks = new Uint32Array(blocks * MASKS_A_BLOCK);
  }

  get isFull(): boolean {
    return this.#segments.length === SLOTS;
  }

  get isEmpty(): boolean {
    return this.#segments.every((segment) => segment === undefined);
  }

  /** Runs in steps of about a millisecond. The segment is found after the last step. */
  *addInSteps(segment: Segment, filter: IdFilter): Generator<void, void> {
    const slot = this.#segments.push(undefined) - 1;
    const most = Math.max(this.#blocks, filter.blocks);
    // A filter with fewer blocks is stretched and one with more is folded. Every hash still finds its bits.
    for (let i = 0; i < most; i++) {
      const to = Math.floor((i / most) * this.#blocks);
      const from = Math.floor((i / most) * filter.blocks) * WORDS_A_BLOCK;
      for (let word = 0; word < WORDS_A_BLOCK; word++)
        this.#set(slot, to, word, filter.words[from + word] ?? 0);
      if (i % BLOCKS_AT_ONCE === BLOCKS_AT_ONCE - 1) yield;
    }
    this.#segments[slot] = segment;
  }

  #set(slot: number, block: number, word: number, bits: number): void {
    const at = maskAt(block, word, 0) + (slot >>> 5);
    for (let left = bits; left !== 0; left &= left - 1) {
      const place = at + 2 * (31 - Math.clz32(left & -left));
      this.#masks[place] = (this.#masks[place] ?? 0) | (1 << (slot & 31));
    }
  }

  /** The slot is not reused: segments are removed in the order of their addition, and the bank with its last one. */
  remove(segment: Segment): void {
    const slot = this.#segments.indexOf(segment);
    if (slot >= 0) this.#segments[slot] = undefined;
  }

  lookUp(keys: Uint32Array, candidates: Candidates, found: Found<Segment>): void {
    candidates.begin(keys.length / KEY.size);
    for (let word = 0; word < WORDS_A_BLOCK && candidates.count > 0; word++) {
      this.#and(keys, word, candidates);
      candidates.compact();
    }
    const { key, low, high, count } = candidates;
    for (let i = 0; i < count; i++) {
      this.#report(key[i] ?? 0, 0, low[i] ?? 0, found);
      this.#report(key[i] ?? 0, 32, high[i] ?? 0, found);
    }
  }

  /** Keeps the slots of the candidates that have the key's bit in this word. */
  #and(keys: Uint32Array, word: number, { key, low, high, count }: Candidates): void {
    const masks = this.#masks;
    const shift = this.#shift;
    for (let i = 0; i < count; i++) {
      const at = (key[i] ?? 0) * KEY.size;
      const mask = maskAt(
        blockOf(keys[at + KEY.idHi] ?? 0, shift),
        word,
        bitOf(keys[at + KEY.idLo] ?? 0, word),
      );
      low[i] = (low[i] ?? 0) & (masks[mask] ?? 0);
      high[i] = (high[i] ?? 0) & (masks[mask + 1] ?? 0);
    }
  }

  #report(index: number, firstSlot: number, slots: number, found: Found<Segment>): void {
    for (let rest = slots; rest !== 0; rest &= rest - 1) {
      const segment = this.#segments[firstSlot + 31 - Math.clz32(rest & -rest)];
      if (segment !== undefined) found(index, segment);
    }
  }
}

/** The first of a mask's two words. */
function maskAt(block: number, word: number, bit: number): number {
  return (block * WORDS_A_BLOCK + word) * BITS_A_WORD * 2 + bit * 2;
}

/** Receives the index of a key and a segment that may have its id. */
type Found<Segment> = (index: number, segment: Segment) => void;

/** Finds the segments that may have an id. Takes 4 bytes of memory per message. */
export class FilterBanks<Segment> {
  readonly #blocks: number;
  readonly #banks: Bank<Segment>[] = [];
  readonly #candidates = new Candidates();

  /** `blocks`: the number of blocks in a full segment's filter. */
  constructor(blocks: number) {
    this.#blocks = blocks;
  }

  /** Adds a segment's filter. Run the steps to their end. */
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
    // The newest bank stays: a segment may be in the middle of its addition.
    if (this.#banks.length > 1 && this.#banks[0]?.isEmpty) this.#banks.shift();
  }

  /** Calls `found` for each key, by its index in `keys`, and each segment whose filter may have its id. */
  lookUp(keys: Uint32Array, found: Found<Segment>): void {
    for (const bank of this.#banks) bank.lookUp(keys, this.#candidates, found);
  }
}
