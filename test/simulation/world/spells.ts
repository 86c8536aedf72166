/** A time in which something was as it should be. */
export interface Spell {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Remembers when something was well. It is at first. */
export class Spells {
  readonly #changes: { readonly atMs: number; readonly isGood: boolean }[] = [];

  note(atMs: number, isGood: boolean): void {
    if ((this.#changes.at(-1)?.isGood ?? true) !== isGood) this.#changes.push({ atMs, isGood });
  }

  /** Whether it was well all the time between these two. */
  isGood(fromMs: number, untilMs: number): boolean {
    const before = this.#changes.findLast(({ atMs }) => atMs <= fromMs);
    const during = this.#changes.some(({ atMs }) => atMs > fromMs && atMs <= untilMs);
    return (before?.isGood ?? true) && !during;
  }

  /** Since when it has not been well. Undefined: it was then. */
  badSince(atMs: number): number | undefined {
    const before = this.#changes.findLast((change) => change.atMs <= atMs);
    return before?.isGood === false ? before.atMs : undefined;
  }

  /** Those that began after a trouble. */
  good(nowMs: number): Spell[] {
    return this.#changes.flatMap(({ atMs, isGood }, index) =>
      isGood ? [{ fromMs: atMs, untilMs: this.#changes[index + 1]?.atMs ?? nowMs }] : [],
    );
  }
}
