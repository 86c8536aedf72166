import { KEY } from "../calls/append-request.js";

/** The row and the keys that an append has collected and not yet written. */
export class PendingWrite {
  /** The offset of the first message whose key is not written. */
  first: number;
  /** The offset after the last message. */
  end: number;
  /** The offset of the first message that is in no row yet. */
  rowFirst: number;
  bodyAt = 0;
  bodyBytes = 0;
  bytes = 0;
  minMs = Number.MAX_SAFE_INTEGER;
  maxMs = 0;
  /** Whether the next commit may extend this commit's last row. */
  readonly isSmall: boolean;
  readonly #keys: Uint32Array;
  #keysFrom = 0;
  #keysTo = 0;

  /** `keyWords`: room for the keys of the whole request. */
  constructor(keyWords: number, first: number, isSmall: boolean) {
    this.isSmall = isSmall;
    this.#keys = new Uint32Array(keyWords);
    this.first = first;
    this.end = first;
    this.rowFirst = first;
  }

  addKey(keys: Uint32Array, at: number): void {
    for (let word = 0; word < KEY.size; word++) this.#keys[this.#keysTo + word] = keys[at + word] ?? 0;
    this.#keysTo += KEY.size;
  }

  addBatch(bodyAt: number, bodyBytes: number, minMs: number, maxMs: number): void {
    if (this.bodyBytes === 0) this.bodyAt = bodyAt;
    this.bodyBytes += bodyBytes;
    this.bytes += bodyBytes;
    this.minMs = Math.min(this.minMs, minMs);
    this.maxMs = Math.max(this.maxMs, maxMs);
  }

  beginRow(): void {
    this.rowFirst = this.end;
    this.bodyBytes = 0;
  }

  get keys(): Uint32Array {
    return this.#keys.subarray(this.#keysFrom, this.#keysTo);
  }

  beginKeys(): void {
    this.first = this.end;
    this.#keysFrom = this.#keysTo;
    this.bytes = 0;
    this.minMs = Number.MAX_SAFE_INTEGER;
    this.maxMs = 0;
  }
}
