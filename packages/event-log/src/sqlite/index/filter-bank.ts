import { KEY } from "../calls/append-request.js";
import { BITS_A_WORD, bitOf, blockOf, type IdFilter, shiftFor, WORDS_A_BLOCK } from "./id-filter.js";

/** Filters in a bank: a bit each in two words. */
const SLOTS = 64;
/** Blocks of a filter that are added in one step. */
const BLOCKS_AT_ONCE = 512;
/** Of a block: for each bit of its words, which filters have it set. */
const MASKS_A_BLOCK = WORDS_A_BLOCK * BITS_A_WORD * 2;

/**
 * The filters of up to 64 segments, turned: for each bit of each block stands, in 64 bits, which of them have it set. To ask all of
 * them about an id is to AND eight such masks, mostly two until nothing is left. Each is a cache miss; so the ids of a whole request
 * are asked together, a word at a time, in loops without a branch, and the processor fetches many masks at once: 0.1 µs an id with
 * one filter, 0.3 with 64, of which one after the other would cost a cache miss each.
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

  /** In steps of about a millisecond. The segment is asked about after the last. */
  *addInSteps(segment: Segment, filter: IdFilter): Generator<void, void> {
    const slot = this.#segments.push(undefined) - 1;
    const most = Math.max(this.#blocks, filter.blocks);
    // A filter with fewer blocks is stretched, one with more is folded: each hash finds its bits either way.
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

  /** Its slot stays empty: segments leave in the order in which they came, and the whole bank with the last. */
  remove(segment: Segment): void {
    const slot = this.#segments.indexOf(segment);
    if (slot >= 0) this.#segments[slot] = undefined;
  }

  ask(keys: Uint32Array, found: (index: number, segment: Segment) => void): void {
    let count = keys.length / KEY.size;
    if (left.key.length < count) left = roomFor(count);
    const { key, low, high } = left;
    for (let i = 0; i < count; i++) key[i] = i;
    low.fill(-1, 0, count);
    high.fill(-1, 0, count);
    for (let word = 0; word < WORDS_A_BLOCK && count > 0; word++) {
      this.#and(keys, word, count);
      count = keepAny(count);
    }
    for (let i = 0; i < count; i++) {
      this.#tell(key[i] ?? 0, 0, low[i] ?? 0, found);
      this.#tell(key[i] ?? 0, 32, high[i] ?? 0, found);
    }
  }

  /** Leaves of the first `count` keys' slots those that have the bit of this word. */
  #and(keys: Uint32Array, word: number, count: number): void {
    const masks = this.#masks;
    const shift = this.#shift;
    const { key, low, high } = left;
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

  #tell(index: number, first: number, slots: number, found: (index: number, segment: Segment) => void): void {
    for (let rest = slots; rest !== 0; rest &= rest - 1) {
      const segment = this.#segments[first + 31 - Math.clz32(rest & -rest)];
      if (segment !== undefined) found(index, segment);
    }
  }
}

/** The first of a mask's two words. */
function maskAt(block: number, word: number, bit: number): number {
  return (block * WORDS_A_BLOCK + word) * BITS_A_WORD * 2 + bit * 2;
}

/** The keys that are left while a bank is asked, and for each the slots that may know it. */
function roomFor(keys: number) {
  return { key: new Uint32Array(keys), low: new Int32Array(keys), high: new Int32Array(keys) };
}

let left = roomFor(1_024);

/** Brings those of the first `count` keys for which a slot is left to the front, and tells how many they are. */
function keepAny(count: number): number {
  const { key, low, high } = left;
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const any = (low[i] ?? 0) | (high[i] ?? 0);
    key[kept] = key[i] ?? 0;
    low[kept] = low[i] ?? 0;
    high[kept] = high[i] ?? 0;
    // 1 where a bit is set: a branch would be guessed wrong half of the time.
    kept += (any | -any) >>> 31;
  }
  return kept;
}

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

  /** Calls `found` for each segment whose filter does not deny an id: `KEY.size` words of `keys` each, by its place among them. */
  ask(keys: Uint32Array, found: (index: number, segment: Segment) => void): void {
    for (const bank of this.#banks) bank.ask(keys, found);
  }
}
