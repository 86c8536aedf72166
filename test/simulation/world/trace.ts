import { createHash } from "node:crypto";

/** Everything that happened in a run, as one line each. Two runs of a seed have the same hash, or the simulation is worth nothing. */
export class Trace {
  readonly #hash = createHash("sha256");
  readonly #print: ((line: string) => void) | undefined;
  #lines = 0;

  /** `print` gets every line. */
  constructor(print?: (line: string) => void) {
    this.#print = print;
  }

  get lines(): number {
    return this.#lines;
  }

  add(atMs: number, line: string): void {
    const text = `${atMs} ${line}`;
    this.#lines += 1;
    this.#hash.update(text).update("\n");
    this.#print?.(text);
  }

  /** Call it once, at the end. */
  digest(): string {
    return this.#hash.digest("hex").slice(0, 16);
  }
}
