/** Writes bytes to a growing buffer. Numbers are varints (LEB128), so small ones take one byte. */
export class ByteWriter {
  #bytes: Uint8Array;
  #length = 0;

  constructor(capacityBytes = 256) {
    this.#bytes = new Uint8Array(capacityBytes);
  }

  get length(): number {
    return this.#length;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  /** Writes an integer from 0 to 2^53. */
  varint(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length++] = rest;
  }

  /** Writes an integer of either sign. Values near zero are short. */
  signed(value: number): void {
    this.varint(value < 0 ? -value * 2 - 1 : value * 2);
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  text(value: string): void {
    const bytes = Buffer.from(value, "utf8");
    this.varint(bytes.length);
    this.raw(bytes);
  }

  /** The written bytes. Valid until the next write. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
  }
}

/** Reads the output of a `ByteWriter`. Throws a `RangeError` if the bytes end too early, or hold a number that was not written. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
    this.#at = at;
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  byte(): number {
    const value = this.#bytes[this.#at];
    if (value === undefined) throw new RangeError("the record ends too early");
    this.#at += 1;
    return value;
  }

  varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte >= 0x80) continue;
      if (value > Number.MAX_SAFE_INTEGER || Number.isNaN(value))
        throw new RangeError("a number is too large");
      return value;
    }
  }

  signed(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  raw(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError("the record ends too early");
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  text(): string {
    const bytes = this.raw(this.varint());
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  }
}
