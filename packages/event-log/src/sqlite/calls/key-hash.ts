/**
 * Hashes of message ids, users and events, as the log's sidecars hold them. Made on the main thread, where the strings
 * are, so that only numbers travel to the worker. Seeded with a number that each store draws for itself: who sends
 * messages cannot know which ids would collide.
 */
export interface KeyHashes {
  hi: number;
  lo: number;
  /** A third word, with which an id's hash has 96 bits. */
  check: number;
}

/** A hash that has taken in what comes first, and can go on from there any number of times. */
export interface HashPrefix {
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

/** `text` keeps one namespace from the other: a source, or the word "user". */
export function hashPrefix(seed: number, text: string): HashPrefix {
  return absorb({ a: seed ^ 0x9e3779b9, b: seed ^ 0x7f4a7c15, c: seed ^ 0x85ebca77 }, text, {
    a: 0,
    b: 0,
    c: 0,
  });
}

const state = { a: 0, b: 0, c: 0 };

/** Hashes `text` after a prefix, into `out`. */
export function hashKey(prefix: HashPrefix, text: string, out: KeyHashes): KeyHashes {
  const { a, b, c } = absorb(prefix, text, state);
  out.hi = mix(a ^ c) >>> 0;
  out.lo = mix(b + a) >>> 0;
  out.check = mix(c ^ Math.imul(a, 0x9e3779b1)) >>> 0;
  return out;
}

/** Three lanes that multiply and rotate over two characters at a time, each mixed at the end. */
function absorb(from: HashPrefix, text: string, to: { a: number; b: number; c: number }): HashPrefix {
  let { a, b, c } = from;
  const { length } = text;
  for (let i = 0; i < length; i += 2) {
    // The last of an odd number stands alone; the length tells "a" and "a\0" apart.
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
  to.a = a;
  to.b = b;
  to.c = c;
  return to;
}

/** Spreads each bit over all (the finalizer of MurmurHash3). */
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

/** Which bits of a class a look-up by type, by event or by both compares. */
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

const eventHash: KeyHashes = { hi: 0, lo: 0, check: 0 };

function eventCode(seed: number, event: string): number {
  return hashKey(hashPrefix(seed, "event"), event, eventHash).hi & ((1 << EVENT_BITS) - 1);
}

/** Events whose code is remembered, at most. Few names recur; who sends many gets none remembered beyond these. */
const MOST_REMEMBERED = 4096;
/** Longer names, in characters, are not remembered: one may be as long as a message. */
const LONGEST_REMEMBERED = 256;

/**
 * A message's type and event in 16 bits, never 0 (which means: no message there). The event is a hash of 13 bits, so a
 * look-up by it must still compare the messages it finds. The codes of events that recur are not made again.
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
      // A copy: the name may be a slice of a whole request's text, which would be kept with it.
      if (event.length <= LONGEST_REMEMBERED && this.#events.size < MOST_REMEMBERED)
        this.#events.set(Buffer.from(event).toString(), known);
    }
    return code | known;
  }
}
