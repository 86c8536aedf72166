import { ByteWriter } from "../calls/bytes.js";
import { ATTEMPT, FINAL_STATES } from "../calls/settle-request.js";
import { AttemptEncoder } from "./attempt-codec.js";
import { type ChunkContent, FULL_BYTES, REACH, STREAM, type Stream } from "./chunks.js";
import type { Strings } from "./outcome-codec.js";
import { OutcomeEncoder, type OutcomeEntry } from "./outcome-codec.js";

/** Collects the newest chunk of a stream. */
export class ChunkWriter implements ChunkContent {
  readonly stream: Stream;
  readonly #strings: Strings;
  readonly #writer = new ByteWriter(FULL_BYTES + 512);
  #outcomes: OutcomeEncoder;
  #attempts: AttemptEncoder;
  /** The number of its row. Undefined until it is first written. */
  no: number | undefined;
  base = 0;
  min = 0;
  max = 0;
  mask = 0;
  isChanged = false;

  constructor(stream: Stream, strings: Strings) {
    this.stream = stream;
    this.#strings = strings;
    this.#outcomes = new OutcomeEncoder(strings, 0);
    this.#attempts = new AttemptEncoder(strings, 0);
  }

  /** Whether the chunk can take an entry for this offset. If not, call `begin` first. */
  takes(offset: number): boolean {
    return (
      this.#writer.length > 0 && this.#writer.length < FULL_BYTES && Math.abs(offset - this.base) < REACH
    );
  }

  begin(offset: number): void {
    this.end();
    this.base = offset;
    this.min = offset;
    this.max = offset;
    this.mask = 0;
    if (this.stream === STREAM.outcomes) this.#outcomes = new OutcomeEncoder(this.#strings, offset);
    else this.#attempts = new AttemptEncoder(this.#strings, offset);
  }

  /** Ends the chunk. Call `begin` before the next entry. */
  end(): void {
    this.#writer.clear();
    this.no = undefined;
    this.isChanged = false;
  }

  addOutcome(entry: OutcomeEntry): void {
    this.#outcomes.write(entry, this.#writer);
    this.#added(entry.offset);
    this.mask |= 1 << FINAL_STATES.indexOf(entry.state);
  }

  addAttempt(record: Float64Array, strings: readonly string[]): void {
    this.#attempts.write(record, strings, this.#writer);
    this.#added(record[ATTEMPT.offset] ?? 0);
  }

  #added(offset: number): void {
    this.min = Math.min(this.min, offset);
    this.max = Math.max(this.max, offset);
    this.isChanged = true;
  }

  get data(): Uint8Array {
    return this.#writer.view();
  }
}
