/** What will happen in the world, by time. Of entries at the same time, the one that was added first comes first. */
export class Agenda {
  #heap: Entry[] = [];
  #added = 0;

  /** The time of the next entry. */
  get nextMs(): number | undefined {
    while (this.#heap[0]?.isCancelled) this.#removeFirst();
    return this.#heap[0]?.atMs;
  }

  /** Returns a function that cancels the entry. */
  add(atMs: number, run: () => void): () => void {
    const entry: Entry = { atMs, order: this.#added++, run, isCancelled: false };
    let place = this.#heap.push(entry) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = this.#heap[parent] as Entry;
      if (!isBefore(entry, above)) break;
      this.#heap[place] = above;
      place = parent;
    }
    this.#heap[place] = entry;
    return () => {
      entry.isCancelled = true;
    };
  }

  /** Removes the next entry and returns what it does. */
  take(): () => void {
    const { nextMs } = this;
    const first = this.#heap[0];
    if (nextMs === undefined || first === undefined) throw new RangeError("The agenda is empty");
    this.#removeFirst();
    return first.run;
  }

  #removeFirst(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      const right = left + 1;
      const child =
        right < this.#heap.length && isBefore(this.#heap[right] as Entry, this.#heap[left] as Entry)
          ? right
          : left;
      const below = this.#heap[child];
      if (below === undefined || !isBefore(below, last)) break;
      this.#heap[place] = below;
      place = child;
    }
    this.#heap[place] = last;
  }
}

interface Entry {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
  isCancelled: boolean;
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
