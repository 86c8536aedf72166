import { type AppendRequest, BATCH, type SourceNumbers } from "../calls/append-request.js";

/** The numbers of source ids in the log. The main thread assigns them; the store's thread stores a number with its first batch. */
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

  /** For a thread that assigns no numbers: a source without one gets one below zero in this request, for `assign` to replace. */
  inOtherThread(): SourceNumbers {
    return {
      numberOf: (sourceId, newSources) => {
        const known = this.#numbers.get(sourceId) ?? newSources.find(([, id]) => id === sourceId)?.[0];
        if (known !== undefined) return known;
        const no = -1 - newSources.length;
        newSources.push([no, sourceId]);
        return no;
      },
    };
  }

  /** Gives the new sources in a request of another thread their numbers. Returns those that the store's thread does not know. */
  assign({
    batches,
    newSources,
  }: Pick<AppendRequest, "batches" | "newSources">): AppendRequest["newSources"] {
    const unknown: [number, string][] = [];
    const numbers = newSources.map(([, sourceId]) => this.numberOf(sourceId, unknown));
    if (numbers.length > 0)
      for (let at = BATCH.sourceNo; at < batches.length; at += BATCH.size) {
        const no = batches[at] as number;
        if (no < 0) batches[at] = numbers[-1 - no] as number;
      }
    return unknown;
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
