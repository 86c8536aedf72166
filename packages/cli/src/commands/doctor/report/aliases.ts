/** Gives each id a number, so that a report can tell things apart without naming them. */
export class Aliases {
  readonly #known = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  /** `source-1` for the first id of the kind `source`; the same id always gets the same alias. */
  of(kind: string, id: string): string {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    const alias = `${kind}-${count}`;
    this.#known.set(id, alias);
    return alias;
  }
}
