import type { Offset, StoredMessage } from "@sluice/event-log";
import { heldBytes } from "./held-bytes.js";
import type { ReadBatch, SharedReader } from "./shared-reader.js";

export interface LogWindowOptions {
  readonly reader: SharedReader;
  readonly start: Offset;
  /** Whether the destination may have something to do with a batch: others are passed over undecoded. */
  readonly concerns: (batch: { sourceId: string; onlyDestinations?: readonly string[] }) => boolean;
  /** Messages came, or the end was reached. */
  readonly onRead: () => void;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Messages of the log that were read ahead for one destination, in order. The batches are kept as bytes, and only the next few
 * messages are kept decoded: a destination may hang for hours, and decoded messages may be twenty times as large.
 */
export class LogWindow {
  readonly #options: LogWindowOptions;
  /** Batches that have messages beyond `#next`. */
  #batches: ReadBatch[] = [];
  /** The next messages, decoded. */
  #next: StoredMessage[] = [];
  /** Messages of `#next` before it are taken. */
  #at = 0;
  #readAfter: Offset;
  /** The last offsets of the readings of which something is left. */
  #ends: Offset[] = [];
  /** The last message that was taken, or passed over because nothing of its batch concerned the destination. */
  #passed: Offset;
  #reading = false;
  /** The log has grown since its end was read. */
  #grown = true;

  constructor(options: LogWindowOptions) {
    this.#options = options;
    this.#readAfter = options.start;
    this.#passed = options.start;
  }

  /** Everything up to here was taken or concerns the destination not. */
  get passed(): Offset {
    return this.#passed;
  }

  /** Nothing is read ahead, and nothing more is in the log as far as is known. */
  get atEnd(): boolean {
    return this.#isEmpty && !this.#reading && !this.#grown;
  }

  /** The log has grown. */
  notify(): void {
    this.#grown = true;
  }

  take(): StoredMessage | undefined {
    if (this.#at === this.#next.length) this.#decodeNext();
    const stored = this.#next[this.#at];
    if (stored === undefined) return undefined;
    this.#at += 1;
    this.#passed = stored.offset;
    return stored;
  }

  /** Reads on until enough is read ahead; `onRead` is called after each reading. */
  fill(): void {
    if (this.#isEmpty) {
      // What is left of the readings does not concern the destination.
      this.#passed = this.#readAfter;
      this.#ends = [];
    }
    while (this.#ends[0] !== undefined && this.#ends[0] <= this.#passed) this.#ends.shift();
    if (this.#reading || !this.#grown || this.#ends.length >= READINGS_AHEAD) return;
    this.#reading = true;
    this.#grown = false;
    const after = this.#readAfter;
    this.#options.reader.read(after).then(
      (batches) => {
        this.#reading = false;
        // Meanwhile the window was dropped: this reading is not the next any more.
        if (after !== this.#readAfter) {
          this.#grown = true;
          this.#options.onRead();
          return;
        }
        const last = batches.at(-1);
        if (last !== undefined) {
          this.#grown = true;
          this.#batches.push(...batches.filter(this.#options.concerns));
          this.#readAfter = last.last;
          this.#ends.push(last.last);
        }
        this.#options.onRead();
      },
      (error) => {
        this.#reading = false;
        this.#grown = true;
        this.#options.onFailure(error);
      },
    );
  }

  /** Forgets what was read ahead: it waits in the log until the destination takes messages again. */
  drop(): void {
    if (this.#isEmpty && this.#readAfter === this.#passed) return;
    this.#batches = [];
    this.#next = [];
    this.#ends = [];
    this.#at = 0;
    this.#readAfter = this.#passed;
    this.#grown = true;
  }

  get #isEmpty(): boolean {
    return this.#at === this.#next.length && this.#batches.length === 0;
  }

  /** Decodes the messages that come next: of one batch, and no more than `DECODED_BYTES`. */
  #decodeNext(): void {
    this.#next = [];
    this.#at = 0;
    for (let batch = this.#batches[0]; batch !== undefined; batch = this.#batches[0]) {
      const left = batch.messages().filter(({ offset }) => offset > this.#passed);
      let bytes = 0;
      const end = left.findIndex((stored) => {
        bytes += heldBytes(stored.message);
        return bytes > DECODED_BYTES;
      });
      // One that alone is larger is taken all the same.
      this.#next = end < 0 ? left : left.slice(0, Math.max(1, end));
      if (this.#next.length === left.length) this.#batches.shift();
      if (this.#next.length > 0) return;
    }
  }
}

/** Bytes of messages that are kept decoded for one destination, as `heldBytes` counts them. */
const DECODED_BYTES = 2 * 1_024 * 1_024;

/**
 * A reading waits its turn behind commits of the store, tens of milliseconds at times; a fast destination is through with one
 * reading by then.
 */
const READINGS_AHEAD = 3;
