import { matchesAt } from "./scan-values.js";

/** Recognises names in JSON bytes without decoding them. */
export class JsonNames<T> {
  readonly #byLength: { readonly name: Uint8Array; readonly value: T }[][] = [];

  constructor(values: { readonly [name: string]: T }) {
    for (const [text, value] of Object.entries(values)) {
      const name = Buffer.from(text);
      while (this.#byLength.length <= name.length) this.#byLength.push([]);
      this.#byLength[name.length]?.push({ name, value });
    }
  }

  /** The value of the name between the quotes at `at` and `end - 1`; undefined if it is none of the names. */
  find(body: Uint8Array, at: number, end: number): T | undefined {
    const length = end - at - 2;
    const candidates = length < this.#byLength.length ? this.#byLength[length] : undefined;
    if (candidates === undefined) return undefined;
    for (let i = 0; i < candidates.length; i++) {
      const candidate = candidates[i];
      if (candidate !== undefined && matchesAt(body, at + 1, candidate.name)) return candidate.value;
    }
    return undefined;
  }
}
