import { isDamage } from "../database/damage.js";
import type { Chunks } from "./chunks.js";
import { STREAM } from "./chunks.js";
import type { LateRows } from "./late-rows.js";
import type { Strings } from "./strings.js";

/** Rows that one step reads: a few milliseconds. */
const ROWS_AT_ONCE = 200;

interface Kind {
  /** Returns the numbers of all rows, in pages. */
  readonly numbers: (most: number) => number[];
  readonly read: (no: number, used: Set<number>) => void;
}

interface Sweep {
  readonly released: readonly number[];
  readonly used: Set<number>;
  /** The kinds of rows that are left to read. The first is being read. */
  readonly kinds: Kind[];
  /** The rest of the first kind's current page. */
  waiting: number[];
}

/** Deletes the released texts of `Strings` that nothing refers to. To find references, it reads all chunks and late attempts, in steps. */
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

  /** Runs one step. Returns true if there is more to do. Within a transaction. */
  step(): boolean {
    if (this.#strings.released.size === 0) return false;
    // New data does not refer to these texts.
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

  /** Returns false if all rows were read. */
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
      // A damaged row cannot be shown, so its texts are not needed.
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
