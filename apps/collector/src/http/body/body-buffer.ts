import { KB } from "@sluice/protocol";

const FIRST_BYTES = 4 * KB;
/** A buffer of the announced length is made at once if this share of it has arrived. */
const LARGE_PART = 1 / 4;

/**
 * The bytes of a body that have arrived, in one buffer. A chunk of one byte would cost a hundred bytes as a Buffer of its own, and keeps
 * all that was read from the socket with it, so chunks are copied, except one that is the whole body. It never holds more than four
 * times what arrived, or 4 KB.
 */
export class BodyBuffer {
  readonly #announcedBytes: number | undefined;
  #buffer: Buffer = EMPTY;
  #length = 0;

  /** `announcedBytes`: the `Content-Length` of the request, if it has one. */
  constructor(announcedBytes: number | undefined) {
    this.#announcedBytes = announcedBytes;
  }

  /** How much more memory the chunk takes. */
  growth(chunk: Buffer): number {
    return Math.max(0, this.#sizeWith(chunk) - this.#buffer.length);
  }

  add(chunk: Buffer): void {
    const size = this.#sizeWith(chunk);
    if (this.#length === 0 && size === chunk.length && this.#isWorthKeeping(chunk)) {
      this.#buffer = chunk;
    } else {
      if (size > this.#buffer.length) {
        const grown = Buffer.allocUnsafeSlow(size);
        this.#buffer.copy(grown, 0, 0, this.#length);
        this.#buffer = grown;
      }
      chunk.copy(this.#buffer, this.#length);
    }
    this.#length += chunk.length;
  }

  /** The body so far. The buffer gives it away. */
  take(): Buffer {
    const body = this.#buffer.subarray(0, this.#length);
    this.#buffer = EMPTY;
    this.#length = 0;
    return body;
  }

  /** A chunk keeps all that was read from the socket with it in memory. */
  #isWorthKeeping(chunk: Buffer): boolean {
    return chunk.length === this.#announcedBytes || chunk.buffer.byteLength <= 2 * chunk.length;
  }

  /** The size of the buffer that holds the chunk too. */
  #sizeWith(chunk: Buffer): number {
    const length = this.#length + chunk.length;
    if (length <= this.#buffer.length) return this.#buffer.length;
    const announced = this.#announcedBytes ?? Number.POSITIVE_INFINITY;
    if (length >= announced * LARGE_PART && length <= announced) return announced;
    return Math.max(length, Math.min(announced, Math.max(FIRST_BYTES, 2 * this.#buffer.length)));
  }
}

const EMPTY = Buffer.alloc(0);
