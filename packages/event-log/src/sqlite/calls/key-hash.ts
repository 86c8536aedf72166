/**
 * Hashes of message ids and users, as the log's sidecars store them. The main thread computes them because it has the strings, so only
 * numbers go to the worker. Every store draws its own random seed, so a sender cannot choose ids that collide.
 */
export interface KeyHashes {
  hi: number;
  lo: number;
  /** The third word of an id's hash, which has 96 bits. */
  check: number;
}

/** The state of a hash after a prefix. Many texts can be hashed after the same prefix. */
export interface HashPrefix {
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

/** `text` is the namespace: a source id, or `USER_PREFIX`. */
export function hashPrefix(seed: number, text: string): HashPrefix {
  return absorb({ a: seed ^ 0x9e3779b9, b: seed ^ 0x7f4a7c15, c: seed ^ 0x85ebca77 }, text);
}

export function emptyHashes(): KeyHashes {
  return { hi: 0, lo: 0, check: 0 };
}

/** Hashes `text` after a prefix. Writes the result to `out` and returns it. */
export function hashKey(prefix: HashPrefix, text: string, out: KeyHashes): KeyHashes {
  const { a, b, c } = absorb(prefix, text);
  out.hi = mix(a ^ c) >>> 0;
  out.lo = mix(b + a) >>> 0;
  out.check = mix(c ^ Math.imul(a, 0x9e3779b1)) >>> 0;
  return out;
}

/** Three lanes that multiply and rotate, two characters at a time, and are mixed at the end. */
function absorb(from: HashPrefix, text: string): HashPrefix {
  let { a, b, c } = from;
  const { length } = text;
  for (let i = 0; i < length; i += 2) {
    // An odd last character is alone; the length distinguishes "a" from "a\0".
    const unit = text.charCodeAt(i) | (i + 1 < length ? text.charCodeAt(i + 1) << 16 : 0);
    a = Math.imul(a ^ unit, 0xcc9e2d51);
    a = (a << 13) | (a >>> 19);
    b = Math.imul(b ^ unit, 0x1b873593);
    b = (b << 15) | (b >>> 17);
    c = Math.imul(c ^ unit, 0xc2b2ae3d);
    c = (c << 11) | (c >>> 21);
  }
  a = mix(a ^ length);
  b = mix(b ^ Math.imul(length, 0x27d4eb2f) ^ a);
  c = mix(c ^ Math.imul(length, 0x165667b1) ^ b);
  return { a, b, c };
}

/** The finalizer of MurmurHash3: every input bit affects every output bit. */
function mix(word: number): number {
  let mixed = word;
  mixed ^= mixed >>> 16;
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

export const USER_PREFIX = "user";

const TYPES = ["identify", "track", "page", "screen", "group", "alias"];
const OTHER_TYPE = 7;
const EVENT_BITS = 13;

export interface ClassMask {
  readonly mask: number;
  readonly wanted: number;
}

/** The bits of a class that a lookup by type, by event or by both compares. */
export function classMask(seed: number, type: string | undefined, event: string | undefined): ClassMask {
  const typeMask = 7 << EVENT_BITS;
  const eventMask = (1 << EVENT_BITS) - 1;
  return {
    mask: (type === undefined ? 0 : typeMask) | (event === undefined ? 0 : eventMask),
    wanted:
      (type === undefined ? 0 : typeCode(type) << EVENT_BITS) |
      (event === undefined ? 0 : eventCode(seed, event)),
  };
}

function typeCode(type: string): number {
  const index = TYPES.indexOf(type);
  return index < 0 ? OTHER_TYPE : index + 1;
}

function eventCode(seed: number, event: string): number {
  return hashKey(hashPrefix(seed, "event"), event, emptyHashes()).hi & ((1 << EVENT_BITS) - 1);
}

/** Maximum number of events whose code is cached. Sources normally send few different names. */
const MOST_CACHED = 4096;
/** Longer names, in characters, are not cached: a name may be as long as a message. */
const LONGEST_CACHED = 256;

/**
 * A message's type and event in 16 bits. Never 0, which means that there is no message. The event is a hash of 13 bits, so a lookup by it
 * must still compare the messages that it finds. Caches the codes of events.
 */
export class ClassCodes {
  readonly #seed: number;
  readonly #events = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  classOf(type: string, event: string | undefined): number {
    const code = typeCode(type) << EVENT_BITS;
    if (event === undefined) return code;
    let known = this.#events.get(event);
    if (known === undefined) {
      known = eventCode(this.#seed, event);
      // A copy: the name may be a slice of a request's text, and would keep all of it in memory.
      if (event.length <= LONGEST_CACHED && this.#events.size < MOST_CACHED)
        this.#events.set(Buffer.from(event).toString(), known);
    }
    return code | known;
  }
}
