import type { SourceNumbers } from "../calls/append-request.js";
import type { SourceName } from "../calls/operations.js";

/** The numbers of source ids in the log. The store's thread assigns them, with a source's first batch. */
export class SourceNames implements SourceNumbers {
  #numbers = new Map<string, number>();
  #names = new Map<number, string>();

  /** Replaces everything by what is stored. */
  reset(sources: readonly SourceName[]): void {
    this.#numbers = new Map(sources.map(([no, id]) => [id, no]));
    this.#names = new Map(sources);
  }

  /** A source without a number gets one below zero, which holds in this request. */
  numberOf(sourceId: string, newSources: [number, string][]): number {
    const known = this.#numbers.get(sourceId) ?? newSources.find(([, id]) => id === sourceId)?.[0];
    if (known !== undefined) return known;
    const no = -1 - newSources.length;
    newSources.push([no, sourceId]);
    return no;
  }

  add(sources: readonly SourceName[]): void {
    this.reset([...this.#names, ...sources]);
  }

  /** In the order in which they became known, without the first `known`. */
  after(known: number): readonly SourceName[] {
    return known === this.#names.size ? [] : [...this.#names].slice(known);
  }

  nameOf(sourceNo: number): string {
    return this.#names.get(sourceNo) ?? "";
  }
}
