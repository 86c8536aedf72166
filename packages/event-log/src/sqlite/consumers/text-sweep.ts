import { isDamage } from "../database/damage.js";
import type { Chunks } from "./chunks.js";
import { STREAM } from "./chunks.js";
import type { LateRows } from "./late-rows.js";
import type { Strings } from "./strings.js";

/** Rows that are read in one step: a few milliseconds' worth. */
const ROWS_AT_ONCE = 200;

interface Kind {
  /** Gives the numbers of all, page by page. */
  readonly numbers: (most: number) => number[];
  readonly read: (no: number, used: Set<number>) => void;
}

interface Sweep {
  readonly released: readonly number[];
  readonly used: Set<number>;
  /** What is left to be read, one kind after the other. */
  readonly kinds: Kind[];
  /** Numbers of the first kind that are read next. */
  waiting: number[];
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
      kinds: [
        { numbers: this.#chunks.numbers(), read: (no, used) => this.#readChunk(no, used) },
        {
          numbers: this.#late.attemptNumbers(),
          read: (no, used) => this.#note(this.#late.attemptAt(no), used),
        },
      ],
      waiting: [],
    };
    for (let left = ROWS_AT_ONCE; left > 0; left--) {
      if (this.#readNext(this.#sweep)) continue;
      this.#end(this.#sweep);
      return this.#strings.released.size > 0;
    }
    return true;
  }

  /** False: all were read. */
  #readNext(sweep: Sweep): boolean {
    const [kind] = sweep.kinds;
    if (kind === undefined) return false;
    if (sweep.waiting.length === 0) sweep.waiting = kind.numbers(ROWS_AT_ONCE);
    const no = sweep.waiting.shift();
    if (no === undefined) {
      sweep.kinds.shift();
      return true;
    }
    try {
      kind.read(no, sweep.used);
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
