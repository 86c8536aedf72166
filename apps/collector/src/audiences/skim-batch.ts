import type { UncheckedMessage } from "@sluice/protocol";

/** What one look at the bytes tells of a batch's items. */
export interface SkimmedBatch {
  readonly items: readonly SkimmedItem[];
  /** The envelope's. */
  readonly sentAt: string | undefined;
}

export interface SkimmedItem {
  /** Where its JSON stands: `body.subarray(start, end)`. */
  readonly start: number;
  readonly end: number;
  /**
   * What it says of its kind, event, user and time. Undefined where that is not plain text (a number, an escape, a key
   * written with one): then it has to be parsed to be known.
   */
  readonly fields: UncheckedMessage | undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SMALL_N = 0x6e;

/** Keys of a message that are read, by their length and first letter, which tell them apart from each other. */
const FIELDS = [
  "type",
  "event",
  "userId",
  "anonymousId",
  "timestamp",
  "originalTimestamp",
  "sentAt",
] as const;
const FIELD_KEYS = FIELDS.map((name) => ({ name, bytes: Buffer.from(name) }));
const BATCH_KEY = Buffer.from("batch");
const SENT_AT_KEY = Buffer.from("sentAt");

/** The body is not what it was taken for; whoever skims reads it the long way. */
class Unreadable extends Error {}

/**
 * Reads a batch's bytes once, without making values of what nobody asks for: a third of what parsing costs. Undefined where it is
 * no envelope with a `batch`, or one that is written in an unusual way. The bytes are valid JSON in UTF-8.
 */
export function skimBatch(body: Uint8Array): SkimmedBatch | undefined {
  try {
    return new Skimmer(body).batch();
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
}

class Skimmer {
  readonly #body: Buffer;
  #at = 0;
  /** Whether the string that was passed last has an escape in it. */
  #hasEscape = false;

  constructor(body: Uint8Array) {
    this.#body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) this.#at = 3;
  }

  batch(): SkimmedBatch | undefined {
    let items: SkimmedItem[] | undefined;
    let sentAt: string | undefined;
    this.#eachKey((start, end) => {
      if (this.#is(BATCH_KEY, start, end)) items = this.#items();
      else if (this.#is(SENT_AT_KEY, start, end)) sentAt = this.#text();
      else this.#skipValue();
    });
    return items === undefined ? undefined : { items, sentAt };
  }

  #items(): SkimmedItem[] {
    const items: SkimmedItem[] = [];
    this.#expect(OPEN_ARRAY);
    if (this.#next() === CLOSE_ARRAY) {
      this.#at += 1;
      return items;
    }
    for (;;) {
      items.push(this.#item());
      const byte = this.#next();
      this.#at += 1;
      if (byte === CLOSE_ARRAY) return items;
      if (byte !== COMMA) throw new Unreadable();
    }
  }

  #item(): SkimmedItem {
    const isObject = this.#next() === OPEN_OBJECT;
    const start = this.#at;
    if (!isObject) {
      this.#skipValue();
      return { start, end: this.#at, fields: undefined };
    }
    const fields: UncheckedMessage = {};
    let isPlain = true;
    this.#eachKey((from, to) => {
      if (this.#hasEscape) isPlain = false;
      const name = this.#fieldAt(from, to);
      if (name === undefined) return this.#skipValue();
      const byte = this.#next();
      // As parsed: of a key that comes twice the last one counts, and null is none.
      if (byte === QUOTE) fields[name] = this.#text();
      else {
        if (byte === SMALL_N && name !== "type") delete fields[name];
        else isPlain = false;
        this.#skipValue();
      }
      if (this.#hasEscape) isPlain = false;
    });
    return { start, end: this.#at, fields: isPlain ? fields : undefined };
  }

  /** Goes through the object that begins here; `take` is called with each key's place, and is to pass its value. */
  #eachKey(take: (start: number, end: number) => void): void {
    this.#expect(OPEN_OBJECT);
    if (this.#next() === CLOSE_OBJECT) {
      this.#at += 1;
      return;
    }
    for (;;) {
      if (this.#next() !== QUOTE) throw new Unreadable();
      const start = this.#at + 1;
      this.#skipString();
      const end = this.#at - 1;
      this.#expect(COLON);
      take(start, end);
      const byte = this.#next();
      this.#at += 1;
      if (byte === CLOSE_OBJECT) return;
      if (byte !== COMMA) throw new Unreadable();
    }
  }

  /** The text of the string that begins here; without meaning where it has escapes. */
  #text(): string {
    if (this.#next() !== QUOTE) throw new Unreadable();
    const start = this.#at + 1;
    this.#skipString();
    return this.#body.toString("utf8", start, this.#at - 1);
  }

  #skipString(): void {
    const body = this.#body;
    const length = body.length;
    this.#hasEscape = false;
    let at = this.#at + 1;
    for (;;) {
      const byte = body[at];
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        this.#hasEscape = true;
        at += 1;
      }
      at += 1;
      if (at >= length) throw new Unreadable();
    }
    this.#at = at + 1;
  }

  #skipValue(): void {
    const byte = this.#next();
    if (byte === QUOTE) {
      this.#skipString();
      this.#hasEscape = false;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#skipNested();
    else this.#skipScalar();
  }

  #skipNested(): void {
    const body = this.#body;
    const length = body.length;
    let depth = 0;
    let at = this.#at;
    for (; at < length; at++) {
      const byte = body[at] as number;
      if (byte === QUOTE) {
        for (at += 1; body[at] !== QUOTE; at++) {
          if (body[at] === BACKSLASH) at += 1;
          if (at >= length) throw new Unreadable();
        }
      } else if ((byte | 0x20) === OPEN_OBJECT) depth += 1;
      else if ((byte | 0x20) === CLOSE_OBJECT) {
        depth -= 1;
        if (depth === 0) break;
      }
    }
    this.#at = at + 1;
  }

  #skipScalar(): void {
    const body = this.#body;
    let at = this.#at;
    for (; at < body.length; at++) {
      const byte = body[at] as number;
      if (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || byte <= 0x20) break;
    }
    this.#at = at;
  }

  /** Passes white space and answers the byte after it. */
  #next(): number {
    const body = this.#body;
    let at = this.#at;
    while ((body[at] as number) <= 0x20) at += 1;
    this.#at = at;
    return body[at] ?? -1;
  }

  #expect(byte: number): void {
    if (this.#next() !== byte) throw new Unreadable();
    this.#at += 1;
  }

  #is(key: Buffer, start: number, end: number): boolean {
    if (this.#hasEscape) throw new Unreadable();
    if (end - start !== key.length) return false;
    for (let at = 0; at < key.length; at++) if (this.#body[start + at] !== key[at]) return false;
    return true;
  }

  #fieldAt(start: number, end: number): (typeof FIELDS)[number] | undefined {
    const length = end - start;
    const first = this.#body[start];
    for (const { name, bytes } of FIELD_KEYS) {
      if (bytes.length !== length || bytes[0] !== first) continue;
      let at = 1;
      while (at < length && this.#body[start + at] === bytes[at]) at += 1;
      if (at === length) return name;
    }
    return undefined;
  }
}
