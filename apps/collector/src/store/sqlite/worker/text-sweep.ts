import type { Chunks } from "./chunks.js";
import { STREAM } from "./chunks.js";
import { isDamage } from "./damage.js";
import type { LateRows } from "./late-rows.js";
import type { Strings } from "./strings.js";

/** Rows that are read in one step: a few milliseconds' worth. */
const ROWS_AT_ONCE = 200;

interface Sweep {
  readonly released: readonly number[];
  readonly used: Set<number>;
  readonly chunks: number[];
  readonly lateAttempts: number[];
}

/** Deletes the released texts that nothing refers to any more: see `Strings`. To know that, every chunk is read, in steps. */
export class TextSweep {
  readonly #strings: Strings;
  readonly #chunks: Chunks;
  readonly #late: LateRows;
  #sweep: Sweep | undefined;

  constructor(strings: Strings, chunks: Chunks, late: LateRows) {
    this.#strings = strings;
    this.#chunks = chunks;
    this.#late = late;
  }

  /** Makes a step; true: there is more to do. Within a transaction. */
  step(): boolean {
    if (this.#strings.released.size === 0) return false;
    // What is written from now on refers to none of these.
    this.#sweep ??= {
      released: [...this.#strings.released],
      used: new Set(),
      chunks: this.#chunks.nos(),
      lateAttempts: this.#late.attemptNos(),
    };
    for (let left = ROWS_AT_ONCE; left > 0; left--) {
      if (this.#readNext(this.#sweep)) continue;
      this.#end(this.#sweep);
      return this.#strings.released.size > 0;
    }
    return true;
  }

  /** False: all were read. */
  #readNext({ chunks, lateAttempts, used }: Sweep): boolean {
    const [chunkNo, lateNo] = [chunks.pop(), chunks.length === 0 ? lateAttempts.pop() : undefined];
    if (chunkNo === undefined && lateNo === undefined) return false;
    try {
      if (chunkNo !== undefined) this.#readChunk(chunkNo, used);
      if (lateNo !== undefined) this.#note(this.#late.attemptAt(lateNo), used);
    } catch (error) {
      // What cannot be read shows nobody the texts that it refers to.
      if (!isDamage(error)) throw error;
    }
    return true;
  }

  #readChunk(no: number, used: Set<number>): void {
    const row = this.#chunks.at(no);
    if (row === undefined) return;
    if (row.stream === STREAM.outcomes) this.#chunks.outcomesIn(row, (text) => used.add(text));
    else this.#note(this.#chunks.attemptsIn(row), used);
  }

  #note(
    attempts: readonly { readonly texts: readonly number[]; readonly contents: readonly number[] }[],
    used: Set<number>,
  ): void {
    for (const { texts, contents } of attempts) for (const no of [...texts, ...contents]) used.add(no);
  }

  #end({ released, used }: Sweep): void {
    this.#sweep = undefined;
    for (const no of released) {
      if (used.has(no)) this.#strings.keep(no);
      else this.#strings.delete(no);
    }
  }
}
