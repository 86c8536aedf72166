import type { Offset, StoredMessage } from "@sluice/event-log";
import type { ReadBatch, SharedReader } from "./shared-reader.js";
import { heldBytes } from "./work.js";

export interface LogWindowOptions {
  readonly reader: SharedReader;
  readonly start: Offset;
  /** Whether a batch may hold messages for the destination. Others are skipped without decoding. */
  readonly concerns: (batch: { sourceId: string; onlyDestinations?: readonly string[] }) => boolean;
  /** Called after each read. */
  readonly onRead: () => void;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Messages of the log that are read ahead for one destination, in order. Batches are kept as bytes and only the next few messages
 * are decoded: a destination may hang for hours, and decoded messages may be twenty times as large.
 */
export class LogWindow {
  readonly #options: LogWindowOptions;
  /** Batches with messages after `#next`. */
  #batches: ReadBatch[] = [];
  /** The next messages, decoded. */
  #next: StoredMessage[] = [];
  /** Messages of `#next` before this index are taken. */
  #at = 0;
  #readAfter: Offset;
  /** The last offset of each read that still has messages left. */
  #ends: Offset[] = [];
  /** The last message that was taken, or skipped because its batch does not concern the destination. */
  #passed: Offset;
  #reading = false;
  /** The log has grown since the last read. */
  #grown = true;

  constructor(options: LogWindowOptions) {
    this.#options = options;
    this.#readAfter = options.start;
    this.#passed = options.start;
  }

  /** Everything up to here was taken or does not concern the destination. */
  get passed(): Offset {
    return this.#passed;
  }

  /** Nothing is read ahead, and the log is known to hold nothing more. */
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

  /** Reads on until enough is read ahead. `onRead` is called after each read. */
  fill(): void {
    if (this.#isEmpty) {
      // What is left of the reads does not concern the destination.
      this.#passed = this.#readAfter;
      this.#ends = [];
    }
    while (this.#ends[0] !== undefined && this.#ends[0] <= this.#passed) this.#ends.shift();
    if (this.#reading || !this.#grown || this.#ends.length >= READS_AHEAD) return;
    this.#reading = true;
    this.#grown = false;
    const after = this.#readAfter;
    this.#options.reader.read(after).then(
      (batches) => {
        this.#reading = false;
        // The window was dropped meanwhile, so this read is no longer the next one.
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

  /** Drops what was read ahead. It is read again when the destination takes messages again. */
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

  /** Decodes the next messages: of one batch, at most `DECODED_BYTES`. */
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
      // A single message that is larger is taken anyway.
      this.#next = end < 0 ? left : left.slice(0, Math.max(1, end));
      if (this.#next.length === left.length) this.#batches.shift();
      if (this.#next.length > 0) return;
    }
  }
}

/** Memory for decoded messages of one destination, as `heldBytes` estimates it. */
const DECODED_BYTES = 2 * 1_024 * 1_024;

/**
 * A read waits behind commits of the store, sometimes for tens of milliseconds. A fast destination finishes one read's messages in
 * that time.
 */
const READS_AHEAD = 3;
