import type { SourceNumbers } from "../calls/append-request.js";

/** The numbers of source ids in the log. The main thread assigns them; the worker stores a number with its first batch. */
export class SourceNames implements SourceNumbers {
  #numbers = new Map<string, number>();
  #names = new Map<number, string>();
  #next = 1;

  /** Replaces everything by what is stored: numbers assigned since then were never committed. */
  reset(sources: readonly (readonly [sourceNo: number, sourceId: string])[]): void {
    this.#numbers = new Map(sources.map(([no, id]) => [id, no]));
    this.#names = new Map(sources);
    this.#next = 1 + sources.reduce((most, [no]) => Math.max(most, no), 0);
  }

  numberOf(sourceId: string, newSources: [number, string][]): number {
    const known = this.#numbers.get(sourceId);
    if (known !== undefined) return known;
    const no = this.#next;
    this.#next += 1;
    this.#numbers.set(sourceId, no);
    this.#names.set(no, sourceId);
    newSources.push([no, sourceId]);
    return no;
  }

  /** Takes numbers that another thread assigned. */
  add(sources: readonly (readonly [sourceNo: number, sourceId: string])[]): void {
    this.reset([...this.#names, ...sources]);
  }

  /** In the order in which they became known, without the first `known`. */
  after(known: number): readonly (readonly [sourceNo: number, sourceId: string])[] {
    return known === this.#names.size ? [] : [...this.#names].slice(known);
  }

  nameOf(sourceNo: number): string {
    return this.#names.get(sourceNo) ?? "";
  }
}
