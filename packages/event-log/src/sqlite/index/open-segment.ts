import { KEY } from "../calls/append-request.js";

/** The bits of a message's position in an index entry. The other bits of the 64 are the hash. */
export const POSITION_BITS = 17;
export const POSITION_MASK = (1 << POSITION_BITS) - 1;

/** Hashes by position. */
export interface HashColumn {
  readonly length: number;
  readonly hi: Uint32Array;
  readonly lo: Uint32Array;
  isSet(position: number): boolean;
}

/**
 * The keys of the newest messages, in memory: a hash table over their ids for dedupe, and columns by position (offset minus the segment's
 * first offset). The sidecars are written from the columns when the segment is sealed.
 */
export class OpenSegment {
  readonly no: number;
  readonly first: number;
  readonly capacity: number;
  /** The offset after its last message. */
  end: number;
  messages = 0;
  bytes = 0;
  minMs = Number.MAX_SAFE_INTEGER;
  maxMs = 0;

  readonly #idHi: Uint32Array;
  readonly #idLo: Uint32Array;
  readonly #idCheck: Uint32Array;
  readonly #userHi: Uint32Array;
  readonly #userLo: Uint32Array;
  /** 0 where there is no message. */
  readonly #class: Uint16Array;
  /** Position + 1 by id, with open addressing; 0 is a free slot. At most half full. */
  readonly #slots: Int32Array;

  constructor(no: number, first: number, capacity: number) {
    this.no = no;
    this.first = first;
    this.end = first;
    this.capacity = capacity;
    this.#idHi = new Uint32Array(capacity);
    this.#idLo = new Uint32Array(capacity);
    this.#idCheck = new Uint32Array(capacity);
    this.#userHi = new Uint32Array(capacity);
    this.#userLo = new Uint32Array(capacity);
    this.#class = new Uint16Array(capacity);
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(capacity * 2)));
  }

  has(hi: number, lo: number, check: number): boolean {
    return this.#find(hi, lo, check) >= 0;
  }

  /** The position of an id, or -1. */
  #find(hi: number, lo: number, check: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = lo & mask; ; slot = (slot + 1) & mask) {
      const position = (this.#slots[slot] ?? 0) - 1;
      if (position < 0) return -1;
      if (this.#idLo[position] === lo && this.#idHi[position] === hi && this.#idCheck[position] === check)
        return position;
    }
  }

  /** Adds the key at `at` in `keys` for the message at `position`. */
  add(position: number, keys: Uint32Array, at: number): void {
    const lo = keys[at + KEY.idLo] ?? 0;
    this.#idHi[position] = keys[at + KEY.idHi] ?? 0;
    this.#idLo[position] = lo;
    this.#idCheck[position] = keys[at + KEY.idCheck] ?? 0;
    this.#userHi[position] = keys[at + KEY.userHi] ?? 0;
    this.#userLo[position] = keys[at + KEY.userLo] ?? 0;
    this.#class[position] = keys[at + KEY.class] ?? 0;
    const mask = this.#slots.length - 1;
    let slot = lo & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = position + 1;
    this.messages += 1;
  }

  get classes(): Uint16Array {
    return this.#class.subarray(0, this.length);
  }

  get checks(): Uint32Array {
    return this.#idCheck.subarray(0, this.length);
  }

  /** Positions of the messages with this id, descending. */
  positionsOfId(hi: number, lo: number, check: number): number[] {
    const position = this.#find(hi, lo, check);
    return position < 0 || this.#class[position] === 0 ? [] : [position];
  }

  /** Positions of the messages with this user, descending. */
  positionsOfUser(hi: number, lo: number): number[] {
    const positions: number[] = [];
    for (let position = this.length - 1; position >= 0; position--) {
      if (this.#userLo[position] === lo && this.#userHi[position] === hi && this.#class[position] !== 0)
        positions.push(position);
    }
    return positions;
  }

  /** The column for the sidecar of ids. */
  get ids(): HashColumn {
    const { length } = this;
    const [hi, lo, check] = [this.#idHi, this.#idLo, this.#idCheck];
    return { length, hi, lo, isSet: (at) => hi[at] !== 0 || lo[at] !== 0 || check[at] !== 0 };
  }

  /** The column for the sidecar of users. */
  get users(): HashColumn {
    return {
      length: this.length,
      hi: this.#userHi,
      lo: this.#userLo,
      isSet: (position) => this.#class[position] !== 0,
    };
  }

  /** Messages and gaps. */
  get length(): number {
    return this.end - this.first;
  }
}
